import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x + self.scale * self.conv2(F.relu(self.conv1(F.relu(x))))


class Denoiser(nn.Module):
    def __init__(self, channels=16, depth=2):
        super().__init__()
        self.head = nn.Conv2d(1, channels, 3, padding=1)
        self.blocks = nn.Sequential(*[ResidualBlock(channels) for _ in range(depth)])
        self.tail = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x):
        return x - self.tail(self.blocks(self.head(x)))


def ripples(n, size=24):
    grid = torch.linspace(0, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing='ij')
    a = torch.rand(n, 1, 1) * 2 * math.pi
    k = 4 + 8 * torch.rand(n, 1, 1)
    clean = torch.sin(k * (torch.cos(a) * xx + torch.sin(a) * yy))
    return clean.unsqueeze(1)


def psnr(a, b):
    return (10 * torch.log10(4 / F.mse_loss(a, b))).item()


class Trainer:
    def __init__(self, model, lr=1e-3, noise=0.4):
        self.model = model
        self.noise = noise
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = StepLR(self.optimizer, step_size=40, gamma=0.5)

    def train_step(self, clean):
        noisy = clean + self.noise * torch.randn_like(clean)
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(noisy), clean)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, clean):
        noisy = clean + self.noise * torch.randn_like(clean)
        return psnr(noisy, clean), psnr(self.model(noisy), clean)


def main():
    torch.manual_seed(0)
    trainer = Trainer(Denoiser())
    test = ripples(32)
    for it in range(1, 121):
        loss = trainer.train_step(ripples(16))
        if it % 30 == 0:
            before, after = trainer.evaluate(test)
            lr = trainer.optimizer.param_groups[0]['lr']
            print('it %d lr %.5f loss %.4f psnr noisy %.2f denoised %.2f' % (it, lr, loss, before, after))


if __name__ == '__main__':
    main()
