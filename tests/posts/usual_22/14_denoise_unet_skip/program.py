import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def double_conv(in_ch, out_ch):
    return nn.Sequential(
        nn.Conv2d(in_ch, out_ch, 3, padding=1),
        nn.GroupNorm(4, out_ch),
        nn.SiLU(),
        nn.Conv2d(out_ch, out_ch, 3, padding=1),
        nn.GroupNorm(4, out_ch),
        nn.SiLU(),
    )


class NoiseUNet(nn.Module):
    """Predicts the noise in a noisy digit, given the timestep."""

    def __init__(self, base=16, timesteps=100):
        super().__init__()
        self.time = nn.Embedding(timesteps, base * 4)
        self.enc1 = double_conv(1, base)
        self.enc2 = double_conv(base, base * 2)
        self.enc3 = double_conv(base * 2, base * 4)
        self.mid = double_conv(base * 4, base * 4)
        self.pool = nn.MaxPool2d(2)
        self.up3 = nn.ConvTranspose2d(base * 4, base * 4, 2, stride=2)
        self.dec3 = double_conv(base * 8, base * 2)
        self.up2 = nn.ConvTranspose2d(base * 2, base * 2, 2, stride=2)
        self.dec2 = double_conv(base * 4, base)
        self.up1 = nn.ConvTranspose2d(base, base, 2, stride=2)
        self.dec1 = double_conv(base * 2, base)
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x, t):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        e3 = self.enc3(self.pool(e2))
        h = self.mid(self.pool(e3) + self.time(t)[:, :, None, None])
        h = self.dec3(torch.cat([self.up3(h), e3], dim=1))
        h = self.dec2(torch.cat([self.up2(h), e2], dim=1))
        h = self.dec1(torch.cat([self.up1(h), e1], dim=1))
        return self.out(h)


class Diffusion:
    def __init__(self, timesteps=100):
        self.timesteps = timesteps
        betas = torch.linspace(1e-4, 0.02, timesteps)
        self.alpha_bar = torch.cumprod(1 - betas, dim=0)

    def add_noise(self, x0, t):
        noise = torch.randn_like(x0)
        a = self.alpha_bar[t][:, None, None, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise, noise


if __name__ == "__main__":
    torch.manual_seed(0)
    digits = torch.rand(64, 1, 28, 28) * 2 - 1
    loader = DataLoader(TensorDataset(digits), batch_size=16, shuffle=True)
    diffusion = Diffusion()
    model = NoiseUNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)

    for epoch in range(2):
        for (x0,) in loader:
            t = torch.randint(0, diffusion.timesteps, (x0.size(0),))
            noisy, noise = diffusion.add_noise(x0, t)
            loss = nn.functional.mse_loss(model(noisy, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")
