"""Reuse the network trained on the old product catalogue for the new one."""
from collections import OrderedDict
from io import BytesIO

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

OLD_CATEGORIES = ["shirts", "shoes", "bags", "hats", "belts", "scarves"]
NEW_CATEGORIES = ["sofas", "lamps", "rugs", "desks"]


def catalogue(n, categories, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(len(categories), (n,), generator=g)
    protos = torch.rand(len(categories), 3, 20, 20, generator=torch.Generator().manual_seed(99))
    x = protos[y] + 0.4 * torch.randn(n, 3, 20, 20, generator=g)
    return TensorDataset(x, y)


class ProductNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(OrderedDict(
            conv1=nn.Conv2d(3, 12, 3, stride=2), bn1=nn.BatchNorm2d(12), act1=nn.ReLU(),
            conv2=nn.Conv2d(12, 24, 3, stride=2), bn2=nn.BatchNorm2d(24), act2=nn.ReLU(),
            gap=nn.AdaptiveAvgPool2d(2), flat=nn.Flatten(),
        ))
        self.classifier = nn.Linear(24 * 4, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def train(model, dataset, epochs, lr):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
    return loss.item()


def test(model, dataset):
    model.eval()
    with torch.no_grad():
        x, y = dataset.tensors
        return (model(x).argmax(1) == y).float().mean().item()


def pretrain():
    model = ProductNet(len(OLD_CATEGORIES))
    loss = train(model, catalogue(300, OLD_CATEGORIES, 0), epochs=3, lr=3e-3)
    print(f"old catalogue: loss {loss:.3f}")
    buffer = BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    return buffer


def finetune(weights):
    model = ProductNet(len(NEW_CATEGORIES))
    state = torch.load(weights)
    missing, unexpected = model.load_state_dict(state, strict=False)
    print("missing", missing, "unexpected", unexpected)
    loss = train(model, catalogue(120, NEW_CATEGORIES, 1), epochs=3, lr=1e-3)
    acc = test(model, catalogue(80, NEW_CATEGORIES, 2))
    print(f"new catalogue: loss {loss:.3f} accuracy {acc:.2f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    finetune(pretrain())
