import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {
    "in_dim": 20,
    "width": 64,
    "depth": 3,
    "lr": 1e-3,
    "epochs": 2,
    "batch_size": 64,
    "compile": True,
    "compile_backend": "eager",
    "out": os.path.join(tempfile.mkdtemp(), "surrogate.pt"),
}


class Surrogate(nn.Module):
    """MLP surrogate for the drag coefficient."""

    def __init__(self, in_dim, width, depth):
        super().__init__()
        layers = [nn.Linear(in_dim, width), nn.SiLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.SiLU()]
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def make_data(n, in_dim, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, in_dim, generator=g) * 2 - 1
    y = (x[:, 0] * 2).sin() + x[:, 1] * x[:, 2] + 0.05 * torch.randn(n, generator=g)
    return TensorDataset(x, y)


def build_model(cfg):
    return Surrogate(cfg["in_dim"], cfg["width"], cfg["depth"])


def save_checkpoint(model, opt, epoch, path):
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "epoch": epoch}, path)


def train(cfg):
    model = build_model(cfg)
    if cfg["compile"]:
        model = torch.compile(model, backend=cfg["compile_backend"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    loader = DataLoader(make_data(1024, cfg["in_dim"], 0), cfg["batch_size"], shuffle=True)
    for epoch in range(cfg["epochs"]):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        print(f"epoch {epoch}: mse {total / len(loader.dataset):.4f}")
        save_checkpoint(model, opt, epoch, cfg["out"])


@torch.no_grad()
def evaluate(cfg):
    ckpt = torch.load(cfg["out"], map_location="cpu")
    model = build_model(cfg)
    model.load_state_dict(ckpt["model"])
    model.eval()
    x, y = make_data(256, cfg["in_dim"], 1).tensors
    print("test rmse", (model(x) - y).pow(2).mean().sqrt().item())


if __name__ == "__main__":
    torch.manual_seed(0)
    train(CONFIG)
    evaluate(CONFIG)
