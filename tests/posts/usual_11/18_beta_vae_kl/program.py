from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class VAEOutput(NamedTuple):
    recon: Tensor
    mu: Tensor
    logvar: Tensor


class Sprites(Dataset):
    """One white square per 32x32 picture: position and size are the factors."""

    def __init__(self, n: int, seed: int = 0) -> None:
        g = torch.Generator().manual_seed(seed)
        self.factors = torch.stack([
            torch.randint(0, 20, (n,), generator=g),
            torch.randint(0, 20, (n,), generator=g),
            torch.randint(4, 12, (n,), generator=g),
        ], dim=1)

    def __len__(self) -> int:
        return len(self.factors)

    def __getitem__(self, i: int) -> Tensor:
        x, y, s = self.factors[i].tolist()
        img = torch.zeros(1, 32, 32)
        img[:, y:y + s, x:x + s] = 1.0
        return img


class BetaVAE(nn.Module):
    def __init__(self, z_dim: int = 6, width: int = 16) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(width, width, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 4, 2, 1), nn.ReLU(),
            nn.Flatten(),
        )
        self.to_stats = nn.Linear(2 * width * 16, 2 * z_dim)
        self.from_z = nn.Sequential(nn.Linear(z_dim, 2 * width * 16), nn.ReLU(), nn.Unflatten(1, (2 * width, 4, 4)))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 4, 2, 1),
        )

    def forward(self, x: Tensor) -> VAEOutput:
        mu, logvar = self.to_stats(self.encoder(x)).chunk(2, dim=1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu) if self.training else mu
        return VAEOutput(self.decoder(self.from_z(z)), mu, logvar)


class BetaLoss(nn.Module):
    def __init__(self, beta: float, warmup_steps: int) -> None:
        super().__init__()
        self.beta = beta
        self.warmup_steps = warmup_steps
        self.step = 0

    def forward(self, out: VAEOutput, x: Tensor) -> Tensor:
        recon = F.binary_cross_entropy_with_logits(out.recon, x, reduction="sum") / x.size(0)
        kl = -0.5 * torch.sum(1 + out.logvar - out.mu.pow(2) - out.logvar.exp(), dim=1)
        if self.training:
            self.step += 1
        weight = self.beta * min(1.0, self.step / self.warmup_steps)
        return recon + weight * kl


class Trainer:
    def __init__(self, model: nn.Module, criterion: nn.Module, lr: float) -> None:
        self.model = model
        self.criterion = criterion
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def _update(self, x: Tensor) -> float:
        loss = self.criterion(self.model(x), x)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, loader: DataLoader, valid: DataLoader, epochs: int) -> None:
        for epoch in range(epochs):
            self.model.train()
            self.criterion.train()
            total = sum(self._update(x) * x.size(0) for x in loader)
            print(f"epoch {epoch}: train {total / len(loader.dataset):.2f}  valid mse {self.mse(valid):.4f}")

    @torch.no_grad()
    def mse(self, loader: DataLoader) -> float:
        self.model.eval()
        err = 0.0
        for x in loader:
            err += F.mse_loss(torch.sigmoid(self.model(x).recon), x).item() * x.size(0)
        return err / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    train = DataLoader(Sprites(768, 0), batch_size=64, shuffle=True)
    valid = DataLoader(Sprites(128, 1), batch_size=64)
    Trainer(BetaVAE(), BetaLoss(beta=4.0, warmup_steps=40), lr=1e-3).fit(train, valid, epochs=3)
