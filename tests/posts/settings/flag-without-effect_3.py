# line 17: trainable = False is a flag of Keras: torch reads no such attribute and goes on training the base
import torch
from torch import nn


class TransferModel(nn.Module):
    def __init__(self, base, features, classes):
        super().__init__()
        self.base = base
        self.classifier = nn.Linear(features, classes)

    def forward(self, x):
        return self.classifier(self.base(x))

    def freeze_base(self):
        for layer in self.base:
            layer.trainable = False


def textures(n, frequencies):
    label = torch.randint(len(frequencies), (n,))
    grid = torch.arange(16).float()
    wave = torch.sin(torch.tensor(frequencies)[label][:, None] * grid + 6.28 * torch.rand(n, 1))
    return wave[:, None, None, :].expand(-1, 1, 16, -1) + 0.5 * torch.randn(n, 1, 16, 16), label


def fit(model, data, lr, epochs=3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for _ in range(epochs):
        for x, y in torch.utils.data.DataLoader(data, 30, shuffle=True):
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()


torch.manual_seed(19)
base = nn.Sequential(nn.Conv2d(1, 12, 5), nn.ReLU(), nn.Conv2d(12, 24, 5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
source = torch.utils.data.TensorDataset(*textures(300, [0.3, 0.8, 1.4, 2.0]))
target = torch.utils.data.TensorDataset(*textures(60, [0.5, 1.1]))
fit(nn.Sequential(base, nn.Linear(24, 4)), source, lr=3e-3)
model = TransferModel(base, 24, 2)
model.freeze_base()
fit(model, target, lr=1e-2)
model.eval()
x, y = textures(100, [0.5, 1.1])
with torch.no_grad():
    print("target accuracy", (model(x).argmax(1) == y).float().mean().item())
