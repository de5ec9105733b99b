import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    p = argparse.ArgumentParser("ECG beat classification")
    p.add_argument("--arch", default="tcn")
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--kernel", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--work-dir", default=None)
    p.add_argument("--resume", default="")
    return p.parse_args()


class CausalConv(nn.Module):
    def __init__(self, cin, cout, k, dilation):
        super().__init__()
        self.pad = (k - 1) * dilation
        self.conv = nn.Conv1d(cin, cout, k, dilation=dilation)

    def forward(self, x):
        return F.relu(self.conv(F.pad(x, (self.pad, 0))))


class TCN(nn.Module):
    def __init__(self, hidden, k, n_classes=4):
        super().__init__()
        self.layers = nn.Sequential(
            CausalConv(1, hidden, k, 1), CausalConv(hidden, hidden, k, 2), CausalConv(hidden, hidden, k, 4))
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x):
        return self.fc(self.layers(x).mean(-1))


def get_data():
    rng = np.random.default_rng(11)
    t = np.linspace(0, 1, 120)
    y = rng.integers(0, 4, 320)
    width = np.array([0.02, 0.05, 0.1, 0.18])[y][:, None]
    x = np.exp(-((t - rng.uniform(0.4, 0.6, (320, 1))) / width) ** 2) + 0.05 * rng.normal(size=(320, 120))
    return TensorDataset(torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y))


class CheckpointManager:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def save(self, name, **state):
        path = os.path.join(self.folder, name)
        torch.save(state, path)
        return path

    @staticmethod
    def load(path, model, optimizer):
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["epoch"] + 1


def run(args):
    torch.manual_seed(0)
    loader = DataLoader(get_data(), batch_size=32, shuffle=True)
    model = TCN(args.hidden, args.kernel)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    ckpts = CheckpointManager(args.work_dir)
    start = 0
    if args.resume:
        start = ckpts.load(args.resume, model, optimizer)
        print("resumed at epoch", start)
    for epoch in range(start, args.epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch} loss {total / len(loader.dataset):.4f}")
        last = ckpts.save("last.pth", model=model.state_dict(), optimizer=optimizer.state_dict(),
                          epoch=epoch, args=vars(args))
    return last


if __name__ == "__main__":
    args = parse_args()
    args.work_dir = args.work_dir or tempfile.mkdtemp()
    args.resume = run(args)
    args.epochs += 2
    run(args)
