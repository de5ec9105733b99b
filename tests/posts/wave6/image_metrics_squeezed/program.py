import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TranslationNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ch, 3, padding=1), nn.InstanceNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=1), nn.InstanceNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, 1, 3, padding=1), nn.Tanh(),
        )

    def forward(self, x):
        return self.net(x)


def to_array(tensor):
    return tensor.detach().cpu().squeeze().numpy()


def mae(gt, pred):
    return np.mean(np.abs(gt - pred))


def psnr(gt, pred):
    data_range = gt.max() - gt.min()
    return 10 * np.log10(data_range ** 2 / np.mean((gt - pred) ** 2))


def nmse(gt, pred):
    return np.linalg.norm(gt - pred) ** 2 / np.linalg.norm(gt) ** 2


def ssim(gt, pred):
    data_range = gt.max() - gt.min()
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    cov = np.mean((gt - gt.mean()) * (pred - pred.mean()))
    return ((2 * gt.mean() * pred.mean() + c1) * (2 * cov + c2)) / (
        (gt.mean() ** 2 + pred.mean() ** 2 + c1) * (gt.var() + pred.var() + c2))


class ValTestMetrics:
    def __init__(self):
        self.metrics = {"ssim": ssim, "psnr": psnr, "nmse": nmse, "mae": mae}

    def get_metrics(self, output, target):
        target, output = to_array(target), to_array(output)
        return {name: float(func(target, output)) for name, func in self.metrics.items()}


def slices(n):
    level = torch.linspace(0.1, 1.0, n).view(n, 1, 1, 1)
    source = level * torch.rand(n, 1, 24, 24) * 2 - 1
    return TensorDataset(source, -0.8 * source)


train_loader = DataLoader(slices(64), batch_size=8, shuffle=True)
val_loader = DataLoader(slices(24), batch_size=4)
model = TranslationNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
tracker = ValTestMetrics()

for epoch in range(3):
    model.train()
    for source, target in train_loader:
        loss = nn.functional.l1_loss(model(source), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    sums, count = {}, 0
    with torch.no_grad():
        for source, target in val_loader:
            values = tracker.get_metrics(model(source), target)
            for name, value in values.items():
                sums[name] = sums.get(name, 0.0) + value * len(source)
            count += len(source)
    print("epoch", epoch, {name: round(value / count, 4) for name, value in sums.items()})
