import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    """Image of a room -> feature vector."""

    def __init__(self, out_dim=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, out_dim),
        )

    def forward(self, x):
        return self.net(x)


class Generator(nn.Module):
    """Feature vector and noise -> impulse response spectrogram."""

    def __init__(self, cond_dim=32, z_dim=16):
        super().__init__()
        self.fc = nn.Linear(cond_dim + z_dim, 32 * 4 * 4)
        self.net = nn.Sequential(
            nn.ConvTranspose2d(32, 24, 4, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
            nn.ConvTranspose2d(24, 16, 4, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 1, 3, padding=1), nn.Tanh(),
        )

    def forward(self, cond, z):
        h = self.fc(torch.cat([cond, z], dim=1))
        return self.net(h.view(-1, 32, 4, 4))


class Discriminator(nn.Module):
    def __init__(self, cond_dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
        )
        self.out = nn.Linear(32 * 4 * 4 + cond_dim, 1)

    def forward(self, spec, cond):
        h = self.conv(spec).flatten(1)
        return self.out(torch.cat([h, cond], dim=1))


class RoomReverb(nn.Module):
    def __init__(self, l1_weight=10.0, z_dim=16):
        super().__init__()
        self.enc = Encoder()
        self.g = Generator(z_dim=z_dim)
        self.d = Discriminator()
        self.l1_weight = l1_weight
        self.z_dim = z_dim

    def configure_optimizers(self):
        g_opt = torch.optim.Adam(self.g.parameters(), lr=4e-4, betas=(0.0, 0.99))
        d_opt = torch.optim.Adam(self.d.parameters(), lr=2e-4, betas=(0.0, 0.99))
        e_opt = torch.optim.Adam(self.enc.parameters(), lr=1e-4)
        return [g_opt, e_opt, d_opt]

    def training_step(self, batch, optimizer_idx):
        spec, room = batch
        f = self.enc(room)
        z = torch.randn(len(room), self.z_dim)
        fake_spec = self.g(f, z)

        if optimizer_idx == 2:
            d_real = self.d(spec, f.detach())
            d_fake = self.d(fake_spec.detach(), f.detach())
            d_loss = F.mse_loss(d_real, torch.ones_like(d_real)) + F.mse_loss(d_fake, torch.zeros_like(d_fake))
            return {"loss": d_loss, "D": d_loss.item(), "D_real": d_real.mean().item(), "D_fake": d_fake.mean().item()}

        d_fake = self.d(fake_spec, f)
        g_adv = F.mse_loss(d_fake, torch.ones_like(d_fake))
        g_l1 = F.l1_loss(fake_spec, spec)
        return {"loss": g_adv + self.l1_weight * g_l1, "G_adv": g_adv.item(), "G_l1": g_l1.item()}


def make_rooms(n=160):
    decay = torch.rand(n) * 4 + 1
    t = torch.linspace(0, 1, 16)
    spec = torch.exp(-decay[:, None] * t)[:, None, None, :].expand(n, 1, 16, 16).clone()
    spec = (spec + 0.1 * torch.randn(n, 1, 16, 16)).clamp(-1, 1)
    room = 0.2 * torch.randn(n, 3, 32, 32) + (decay / 5)[:, None, None, None]
    return TensorDataset(spec, room)


def fit(model, loader, epochs):
    optimizers = model.configure_optimizers()
    for epoch in range(epochs):
        model.train()
        logs = {}
        for batch in loader:
            for idx, optimizer in enumerate(optimizers):
                out = model.training_step(batch, idx)
                optimizer.zero_grad()
                out.pop("loss").backward()
                optimizer.step()
                logs.update(out)
        print(f"epoch {epoch}: " + " ".join(f"{k} {v:.3f}" for k, v in logs.items()))


if __name__ == "__main__":
    torch.manual_seed(0)
    fit(RoomReverb(), DataLoader(make_rooms(), batch_size=16, shuffle=True), epochs=6)
