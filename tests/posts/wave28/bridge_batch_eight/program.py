import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ResBlock(nn.Module):
    def __init__(self, ch, emb):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.norm = nn.InstanceNorm2d(ch)
        self.affine = nn.Linear(emb, ch)

    def forward(self, x, emb):
        h = F.relu(self.norm(self.conv1(x)) + self.affine(emb)[:, :, None, None])
        return x + self.conv2(h)


class TimeGenerator(nn.Module):
    """Image translator that sees the time index of the bridge and a noise code z."""

    def __init__(self, ngf=16, emb=32, steps=5, z_dim=16):
        super().__init__()
        self.embed_t = nn.Embedding(steps, emb)
        self.embed_z = nn.Linear(z_dim, emb)
        self.stem = nn.Conv2d(3, ngf, 7, padding=3)
        self.blocks = nn.ModuleList([ResBlock(ngf, emb) for _ in range(2)])
        self.head = nn.Conv2d(ngf, 3, 7, padding=3)

    def forward(self, x, time_idx, z):
        emb = self.embed_t(time_idx) + self.embed_z(z)
        h = self.stem(x)
        for block in self.blocks:
            h = block(h, emb)
        return torch.tanh(self.head(h))


class BridgeModel:
    def __init__(self, opt):
        self.opt = opt
        self.netG = TimeGenerator(steps=opt.num_timesteps)
        self.netD = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(32, 1, 3, padding=1),
        )
        self.optimizer_G = torch.optim.Adam(self.netG.parameters(), lr=opt.lr, betas=(0.5, 0.999))
        self.optimizer_D = torch.optim.Adam(self.netD.parameters(), lr=opt.lr, betas=(0.5, 0.999))

    def set_input(self, batch):
        self.real_A, self.real_B = batch

    def forward(self):
        tau, T = self.opt.tau, self.opt.num_timesteps
        incs = np.array([0] + [1 / (i + 1) for i in range(T - 1)])
        times = np.cumsum(incs)
        times = times / times[-1]
        times = torch.tensor(0.5 * times[-1] + 0.5 * times).float()
        bs = self.real_A.size(0)
        self.time_idx = torch.randint(T, size=(bs,))

        with torch.no_grad():
            self.netG.eval()
            for t in range(self.time_idx.int().item() + 1):
                if t > 0:
                    delta = times[t] - times[t - 1]
                    denom = times[-1] - times[t - 1]
                    inter = (delta / denom).reshape(-1, 1, 1, 1)
                    scale = (delta * (1 - delta / denom)).reshape(-1, 1, 1, 1)
                    noise = torch.randn_like(Xt) * (scale * tau).sqrt()
                Xt = self.real_A if t == 0 else (1 - inter) * Xt + inter * Xt_1 + noise
                index = t * torch.ones(bs, dtype=torch.long)
                z = torch.randn(bs, 16)
                Xt_1 = self.netG(Xt, index, z)
            self.netG.train()
        self.real_A_noisy = Xt.detach()
        self.fake_B = self.netG(self.real_A_noisy, self.time_idx, torch.randn(bs, 16))

    def optimize_parameters(self):
        self.forward()
        self.optimizer_D.zero_grad()
        loss_D = 0.5 * ((self.netD(self.fake_B.detach()) ** 2).mean() + ((self.netD(self.real_B) - 1) ** 2).mean())
        loss_D.backward()
        self.optimizer_D.step()

        self.optimizer_G.zero_grad()
        loss_gan = ((self.netD(self.fake_B) - 1) ** 2).mean()
        loss_sb = self.opt.lambda_sb * ((self.real_A_noisy - self.fake_B) ** 2).mean()
        (loss_gan + loss_sb).backward()
        self.optimizer_G.step()
        return loss_D.item(), loss_gan.item(), loss_sb.item()


def unpaired(n, size):
    horses = torch.rand(n, 3, size, size) * torch.tensor([0.9, 0.5, 0.2]).view(1, 3, 1, 1)
    zebras = (torch.arange(size).view(1, 1, 1, -1) // 2 % 2).float().expand(n, 3, size, size) + 0.1 * torch.randn(n, 3, size, size)
    return TensorDataset(horses * 2 - 1, zebras * 2 - 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--crop_size", type=int, default=32)
    parser.add_argument("--num_timesteps", type=int, default=5)
    parser.add_argument("--tau", type=float, default=0.01)
    parser.add_argument("--lambda_sb", type=float, default=1.0)
    parser.add_argument("--lr", type=float, default=2e-4)
    parser.add_argument("--n_epochs", type=int, default=2)
    opt = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(unpaired(32, opt.crop_size), batch_size=opt.batch_size, shuffle=True)
    model = BridgeModel(opt)
    for epoch in range(1, opt.n_epochs + 1):
        for batch in loader:
            model.set_input(batch)
            losses = model.optimize_parameters()
        print("(epoch: %d) D: %.3f G_GAN: %.3f SB: %.3f" % (epoch, *losses))
