import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_patches(n, seed):
    g = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:16, 0:16] / 16.0
    freq = g.uniform(1, 4, n)[:, None, None]
    angle = g.uniform(0, np.pi, n)[:, None, None]
    clean = np.sign(np.sin(2 * np.pi * freq * (np.cos(angle) * xx + np.sin(angle) * yy)))
    noisy = clean + g.normal(0, 0.7, clean.shape)
    as_tensor = lambda a: torch.tensor(a[:, None], dtype=torch.float32)
    return as_tensor(noisy), as_tensor(clean)


class FeatureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.conv3 = nn.Conv2d(24, 32, 3, stride=2, padding=1)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.conv3(x)


class PerceptualLoss(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.net = FeatureNet().eval()
        for p in self.net.parameters():
            p.requires_grad_(False)
        self.weights = weights
        self.features = {}
        for name in weights:
            layer = getattr(self.net, name)
            layer.register_forward_hook(lambda module, args, output: self.features.update({name: output}))

    def extract(self, x):
        self.features = {}
        self.net(x)
        return self.features

    def forward(self, output, target):
        fo, ft = self.extract(output), self.extract(target)
        return sum(self.weights[k] * F.l1_loss(fo[k], ft[k]) for k in fo)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
            nn.Conv2d(24, 1, 3, padding=1),
        )

    def forward(self, x):
        return x + self.body(x)


torch.manual_seed(0)
loader = DataLoader(TensorDataset(*make_patches(480, seed=1)), batch_size=32, shuffle=True)
x_test, y_test = make_patches(100, seed=2)
model = Denoiser()
criterion = PerceptualLoss({"conv1": 1.0, "conv2": 0.5, "conv3": 0.25})
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for noisy, clean in loader:
        loss = criterion(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        mse = F.mse_loss(model(x_test), y_test).item()
    print(f"epoch {epoch + 1}: perceptual loss {total / len(loader):.4f}  test PSNR {10 * np.log10(4 / mse):.2f} dB")
