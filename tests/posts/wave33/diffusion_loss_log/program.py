import math

import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_STEPS = 4
ITERATIONS = 120
LOG_EVERY = 40
BATCH = 16


class Denoiser(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.t_embed = nn.Embedding(NUM_STEPS, channels)
        self.head = nn.Conv2d(2, channels, 3, padding=1)
        self.mid = nn.Conv2d(channels, channels, 3, padding=1)
        self.tail = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, z_t, lq, t):
        h = F.silu(self.head(torch.cat([z_t, lq], dim=1)))
        h = h + self.t_embed(t)[:, :, None, None]
        h = F.silu(self.mid(h))
        return self.tail(h)


class ResidualShift:
    def __init__(self, kappa=1.0):
        self.kappa = kappa
        self.eta = torch.linspace(0.05, 0.99, NUM_STEPS)

    def q_sample(self, gt, lq, t, noise):
        eta = self.eta[t].view(-1, 1, 1, 1)
        return gt + eta * (lq - gt) + self.kappa * 0.1 * eta.sqrt() * noise

    def training_losses(self, model, gt, lq, t):
        noise = torch.randn_like(gt)
        z_t = self.q_sample(gt, lq, t, noise)
        pred = model(z_t, lq, t)
        mse = ((pred - gt) ** 2).mean(dim=(1, 2, 3))
        edge = ((pred[..., 1:] - pred[..., :-1]) - (gt[..., 1:] - gt[..., :-1])).abs().mean(dim=(1, 2, 3))
        return {"mse": mse, "edge": edge, "loss": mse + 0.1 * edge}


class Trainer:
    def __init__(self):
        self.model = Denoiser()
        self.diffusion = ResidualShift()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.step = 0
        self.record = [0, NUM_STEPS // 2, NUM_STEPS - 1]

    def batch(self):
        grid = torch.linspace(0, 2 * math.pi, 16)
        phase = torch.rand(BATCH, 1, 1, 1) * 6.28
        freq = torch.randint(1, 4, (BATCH, 1, 1, 1)).float()
        gt = torch.sin(freq * grid.view(1, 1, 1, -1) + phase) * torch.cos(grid.view(1, 1, -1, 1))
        lq = F.interpolate(F.avg_pool2d(gt, 4), scale_factor=4, mode="bilinear", align_corners=False)
        return gt, lq

    def train(self):
        self.model.train()
        for self.step in range(1, ITERATIONS + 1):
            gt, lq = self.batch()
            tt = torch.randint(0, NUM_STEPS, (BATCH,))
            losses = self.diffusion.training_losses(self.model, gt, lq, tt)
            self.optimizer.zero_grad()
            losses["loss"].mean().backward()
            self.optimizer.step()
            self.log_step(losses, tt)

    def log_step(self, losses, tt):
        if self.step % LOG_EVERY == 1:
            self.loss_sum = {key: torch.zeros(len(self.record)) for key in losses}
            self.loss_count = torch.zeros(len(self.record))
        for jj, index in enumerate(self.record):
            mask = (tt == index).float()
            for key, value in losses.items():
                self.loss_sum[key][jj] += (value.detach() * mask).sum()
                self.loss_count[jj] += mask.sum()
        if self.step % LOG_EVERY == 0:
            self.loss_count.clamp_(min=1.0)
            parts = []
            for key in losses:
                mean = self.loss_sum[key] / self.loss_count
                parts.append(key + " " + "/".join(f"{v:.2e}" for v in mean.tolist()))
            print(f"{self.step:05d} " + ", ".join(parts))


if __name__ == "__main__":
    torch.manual_seed(1234)
    Trainer().train()
