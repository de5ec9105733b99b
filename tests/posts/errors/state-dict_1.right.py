# line 37: the checkpoint was saved from the DataParallel wrapper, so its keys carry "module." and do not fit the bare model; mended by: saving the state of the wrapped module
import os
import tempfile

import torch
import torch.nn as nn


class WaveClassifier(nn.Module):
    def __init__(self, n_out=3):
        super().__init__()
        self.front = nn.Conv1d(1, 8, 9, stride=4)
        self.body = nn.Sequential(nn.ReLU(), nn.Conv1d(8, 8, 5), nn.ReLU())
        self.out = nn.Linear(8, n_out)

    def forward(self, x):
        return self.out(self.body(self.front(x)).amax(-1))


def waves(n):
    y = torch.randint(3, (n,))
    t = torch.linspace(0, 1, 200)
    x = torch.sin(2 * torch.pi * (3 + 5 * y[:, None]) * t) + 0.1 * torch.randn(n, 200)
    return x.unsqueeze(1), y


class Checkpointer:
    def __init__(self, folder):
        self.path = os.path.join(folder, "best.pt")
        self.best = float("inf")

    def maybe_save(self, model, optimizer, epoch, loss):
        if loss < self.best:
            self.best = loss
            torch.save({
                "epoch": epoch,
                "model": model.module.state_dict(),
                "optimizer": optimizer.state_dict(),
            }, self.path)


def train(folder, epochs=3):
    model = nn.DataParallel(WaveClassifier())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    ckpt = Checkpointer(folder)
    x, y = waves(90)
    for epoch in range(epochs):
        total = 0.0
        for xb, yb in zip(x.split(30), y.split(30)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        ckpt.maybe_save(model, optimizer, epoch, total)
        print("epoch", epoch, round(total, 3))
    return ckpt.path


def infer(path):
    model = WaveClassifier()
    saved = torch.load(path, map_location="cpu")
    model.load_state_dict(saved["model"])
    model.eval()
    x, y = waves(30)
    with torch.no_grad():
        print("from epoch", saved["epoch"], "acc", (model(x).argmax(1) == y).float().mean().item())


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as d:
    infer(train(d))
