import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TinyDiT(nn.Module):
    def __init__(self, latent_dim=16, width=64, classes=10):
        super().__init__()
        self.inp = nn.Linear(latent_dim, width)
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.label = nn.Embedding(classes, width)
        layer = nn.TransformerEncoderLayer(width, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, latent_dim)

    def forward(self, z, t, y):
        cond = self.time(t[:, None]) + self.label(y)
        return self.out(self.blocks(self.inp(z) + cond[:, None]))


def flow_loss(model, z, y):
    t = torch.rand(z.size(0))
    noise = torch.randn_like(z)
    zt = (1 - t)[:, None, None] * z + t[:, None, None] * noise
    return F.mse_loss(model(zt, t, y), noise - z)


@torch.no_grad()
def update_ema(ema, model, decay=0.99):
    for pe, p in zip(ema.parameters(), model.parameters()):
        pe.lerp_(p, 1 - decay)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--global-batch-size", type=int, default=32)
    parser.add_argument("--grad-accum-steps", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--clip-grad", type=float, default=1.0)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(0)
    micro_batch_size = args.global_batch_size // args.grad_accum_steps
    latents = torch.randn(256, 9, 16)
    labels = torch.randint(0, 10, (256,))
    loader = DataLoader(TensorDataset(latents, labels), batch_size=micro_batch_size, shuffle=True, drop_last=True)

    model = TinyDiT()
    ema = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))

    global_step, running = 0, 0.0
    for epoch in range(args.epochs):
        model.train()
        accum_counter = 0
        step_loss = 0.0
        for z, y in loader:
            if accum_counter == 0:
                optimizer.zero_grad(set_to_none=True)
            loss = flow_loss(model, z, y) / args.grad_accum_steps
            loss.backward()
            step_loss += loss.item()
            accum_counter += 1
            if accum_counter < args.grad_accum_steps:
                continue
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad)
            optimizer.step()
            update_ema(ema, model)
            global_step += 1
            running += step_loss
            accum_counter, step_loss = 0, 0.0
            if global_step % 4 == 0:
                print(f"step {global_step} loss {running / 4:.4f}")
                running = 0.0


if __name__ == "__main__":
    main()
