import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_textures(n, classes, seed):
    g = np.random.default_rng(seed)
    y = g.choice(classes, n)
    yy, xx = np.mgrid[0:16, 0:16] / 16
    angle = y * np.pi / 8
    phase = g.uniform(0, 2 * np.pi, n)
    wave = (np.cos(angle)[:, None, None] * xx + np.sin(angle)[:, None, None] * yy) * 2 * np.pi * 3
    img = np.sin(wave + phase[:, None, None]) + g.normal(0, 0.9, (n, 16, 16))
    remap = {c: i for i, c in enumerate(classes)}
    labels = torch.tensor([remap[c] for c in y])
    return TensorDataset(torch.tensor(img[:, None], dtype=torch.float32), labels)


class SmallCNN(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.classifier = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x))


def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.Linear)):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


def train(model, data, epochs, lr):
    loader = DataLoader(data, batch_size=32, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        model.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    x, y = data.tensors
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
source = SmallCNN(num_classes=6)
source.apply(init_weights)
train(source, make_textures(2000, [0, 1, 2, 3, 4, 5], seed=1), epochs=8, lr=2e-3)
path = os.path.join(tempfile.mkdtemp(), "pretrained.pt")
torch.save(source.state_dict(), path)
print(f"pretrained, source accuracy {accuracy(source, make_textures(500, [0, 1, 2, 3, 4, 5], seed=2)):.3f}")

few = make_textures(60, [6, 7, 1], seed=3)
test = make_textures(600, [6, 7, 1], seed=4)
model = SmallCNN(num_classes=6)
model.load_state_dict(torch.load(path))
model.classifier = nn.Linear(32, 3)
model.apply(init_weights)
for round_ in range(5):
    train(model, few, epochs=3, lr=2e-3)
    print(f"finetune {3 * (round_ + 1)} epochs: train acc {accuracy(model, few):.3f}  test acc {accuracy(model, test):.3f}")
