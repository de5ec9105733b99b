"""WGAN that generates synthetic card transactions (amount, hour, distance, balance)."""
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

COLUMNS = ["log_amount", "hour", "log_distance", "log_balance"]
LATENT = 10
N_CRITIC = 5
CLIP_VALUE = 0.01


def transactions(n: int = 2000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.3
    frame = pd.DataFrame({
        "log_amount": np.where(kind, rng.normal(5, 0.5, n), rng.normal(2.5, 0.7, n)),
        "hour": np.where(kind, rng.normal(20, 2, n), rng.normal(13, 3, n)),
        "log_distance": rng.normal(1, 1, n) + kind,
        "log_balance": rng.normal(7, 1, n),
    })
    return frame[COLUMNS]


class TableGenerator(nn.Module):
    def __init__(self, n_columns: int):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(LATENT, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, n_columns),
        )

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self, n_columns: int):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_columns, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x)


def endless(loader):
    while True:
        yield from loader


def train(data: torch.Tensor, steps: int = 200, batch_size: int = 128):
    generator, critic = TableGenerator(data.size(1)), Critic(data.size(1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
    loader = endless(DataLoader(TensorDataset(data), batch_size=batch_size, shuffle=True, drop_last=True))

    for step in range(steps):
        for _ in range(N_CRITIC):
            (real,) = next(loader)
            with torch.no_grad():
                fake = generator(torch.randn(batch_size, LATENT))
            critic_loss = critic(fake).mean() - critic(real).mean()
            opt_c.zero_grad()
            critic_loss.backward()
            opt_c.step()
            # Lipschitz constraint of the paper
            for p in critic.parameters():
                p.data.clamp_(-CLIP_VALUE, CLIP_VALUE)

        gen_loss = -critic(generator(torch.randn(batch_size, LATENT))).mean()
        opt_g.zero_grad()
        gen_loss.backward()
        opt_g.step()

        if step % 50 == 0 or step == steps - 1:
            print(f"step {step:4d}  W-distance {-critic_loss.item():.5f}  gen loss {gen_loss.item():.5f}")
    return generator, critic


def main():
    torch.manual_seed(0)
    df = transactions()
    mean, std = df.mean(), df.std()
    data = torch.tensor(((df - mean) / std).to_numpy(), dtype=torch.float32)
    generator, critic = train(data)

    largest = max(p.abs().max().item() for p in critic.parameters())
    print(f"largest critic weight: {largest:.4f}")
    generator.eval()
    with torch.no_grad():
        rows = generator(torch.randn(500, LATENT)).numpy()
    fake_df = pd.DataFrame(rows, columns=COLUMNS) * std + mean
    print(pd.concat([df.mean(), fake_df.mean()], axis=1, keys=["real", "fake"]).round(2))


if __name__ == "__main__":
    main()
