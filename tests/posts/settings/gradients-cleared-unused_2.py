# line 29: zero_grad at the start of each epoch drops the gradients of the last two of ten batches, which were never used
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

HP = {"micro": 12, "accumulate": 4, "epochs": 3, "lr": 0.02}


class ResidualBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.a(x))))


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), ResidualBlock(8), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(32, 4)
    )


def train(model, loader, hp):
    optimizer = torch.optim.SGD(model.parameters(), lr=hp["lr"], momentum=0.9)
    losses = []
    for epoch in range(hp["epochs"]):
        model.train()
        optimizer.zero_grad()
        for i, (scan, label) in enumerate(loader, start=1):
            loss = nn.functional.cross_entropy(model(scan), label) / hp["accumulate"]
            loss.backward()
            losses.append(loss.item() * hp["accumulate"])
            if i % hp["accumulate"] == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(epoch, sum(losses[-len(loader) :]) / len(loader))
    return model


torch.manual_seed(46)
label = torch.randint(4, (120,))
scan = torch.randn(120, 1, 12, 12) * 0.5
scan[torch.arange(120), 0, label * 3] += 2
loader = DataLoader(TensorDataset(scan, label), HP["micro"], shuffle=True)
train(build(), loader, HP)
