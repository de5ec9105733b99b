import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CKPT = "last.ckpt"


class HighwayNet(nn.Module):
    def __init__(self, dim=24, depth=3):
        super().__init__()
        self.lin = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.gate = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        for lin, gate in zip(self.lin, self.gate):
            g = torch.sigmoid(gate(x))
            x = g * torch.relu(lin(x)) + (1 - g) * x
        return self.out(x)


def save_checkpoint(path, epoch, model, optimizer):
    torch.save({
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
    }, path)


def load_checkpoint(path, model, optimizer):
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    print(f"resumed from epoch {ckpt['epoch']}")
    return ckpt["epoch"] + 1


def fit(total_epochs, loader):
    model = HighwayNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    start_epoch = 0
    if os.path.exists(CKPT):
        start_epoch = load_checkpoint(CKPT, model, optimizer)
    for epoch in range(start_epoch, total_epochs):
        running = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(loader):.4f}")
        save_checkpoint(CKPT, epoch, model, optimizer)


if __name__ == "__main__":
    torch.manual_seed(0)
    if os.path.exists(CKPT):
        os.remove(CKPT)
    x = torch.randn(400, 24)
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    fit(4, loader)
    # the job was pre-empted here; continue
    fit(8, loader)
