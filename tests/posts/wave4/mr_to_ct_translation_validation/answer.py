import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)
np.random.seed(10)


class Generator(nn.Module):
    def __init__(self, ngf=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, ngf, 5, padding=2), nn.InstanceNorm2d(ngf), nn.ReLU(),
            nn.Conv2d(ngf, ngf, 3, padding=1), nn.InstanceNorm2d(ngf), nn.ReLU(),
            nn.Conv2d(ngf, 1, 5, padding=2), nn.Tanh())

    def forward(self, x):
        return self.net(x)


def slices(n):
    mr = torch.rand(n, 1, 48, 48) * 2 - 1
    ct = torch.tanh(2 * mr.flip(-1) * torch.linspace(0.2, 2.0, n).view(-1, 1, 1, 1))
    return TensorDataset(mr, ct)


class ValTestMetrics:
    def mae(self, pred, target):
        return (pred - target).abs().mean(dim=(1, 2, 3))

    def psnr(self, pred, target):
        mse = ((pred - target) ** 2).mean(dim=(1, 2, 3))
        return 10 * torch.log10(4.0 / mse)

    def get_metrics(self, pred, target):
        return {name: getattr(self, name)(pred, target) for name in ('mae', 'psnr')}


class Validator:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.metricizer = ValTestMetrics()

    @torch.no_grad()
    def run(self):
        self.model.eval()
        metrics = {'mae': [], 'psnr': []}
        for real_A, real_B in self.loader:
            fake_B = self.model(real_A)
            for name, value in self.metricizer.get_metrics(fake_B, real_B).items():
                metrics[name].extend(value.tolist())
        self.model.train()
        return {name: np.mean(values) for name, values in metrics.items()}


train_loader = DataLoader(slices(14), batch_size=4, shuffle=True)
val_loader = DataLoader(slices(5), batch_size=2)
generator = Generator()
optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
validator = Validator(generator, val_loader)

for epoch in range(3):
    for mr, ct in train_loader:
        loss = nn.functional.l1_loss(generator(mr), ct)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results = validator.run()
    print('epoch %d  val MAE %.4f  val PSNR %.3f' % (epoch, results['mae'], results['psnr']))
