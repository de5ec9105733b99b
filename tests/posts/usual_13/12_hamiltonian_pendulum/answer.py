from dataclasses import dataclass
import math
import torch
from torch import Tensor, nn


@dataclass
class Config:
    hidden: int = 64
    lr: float = 3e-3
    steps: int = 300
    batch: int = 128
    dt: float = 0.05
    rollout: int = 60


def true_field(x: Tensor) -> Tensor:
    q, p = x.unbind(-1)
    return torch.stack([p, -torch.sin(q)], dim=-1)


def rk4(f, x: Tensor, dt: float) -> Tensor:
    k1 = f(x)
    k2 = f(x + 0.5 * dt * k1)
    k3 = f(x + 0.5 * dt * k2)
    k4 = f(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class HNN(nn.Module):
    """Learns H(q, p); the vector field is its symplectic gradient."""

    def __init__(self, hidden: int):
        super().__init__()
        self.energy = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        if not x.requires_grad:
            x = x.clone().requires_grad_(True)
        H = self.energy(x).sum()
        dH, = torch.autograd.grad(H, x, create_graph=self.training)
        return torch.stack([dH[..., 1], -dH[..., 0]], dim=-1)


def sample_states(n: int) -> Tensor:
    q = (2 * torch.rand(n) - 1) * math.pi * 0.8
    p = (2 * torch.rand(n) - 1) * 1.5
    return torch.stack([q, p], dim=-1)


def fit(model: HNN, cfg: Config) -> None:
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    model.train()
    for step in range(cfg.steps):
        x = sample_states(cfg.batch)
        loss = (model(x) - true_field(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"step {step:4d}  loss {loss.item():.5f}")


def rollout_error(model: HNN, cfg: Config) -> float:
    model.eval()
    x_true = sample_states(32)
    x_pred = x_true.clone()
    err = 0.0
    for _ in range(cfg.rollout):
        x_true = rk4(true_field, x_true, cfg.dt)
        x_pred = rk4(model, x_pred, cfg.dt)
        err += (x_true - x_pred).norm(dim=-1).mean().item()
    return err / cfg.rollout


if __name__ == "__main__":
    torch.manual_seed(0)
    cfg = Config()
    model = HNN(cfg.hidden)
    fit(model, cfg)
    print(f"mean rollout error {rollout_error(model, cfg):.4f}")
