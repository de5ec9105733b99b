import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    """Clean and noisy image pairs, every image with its own intensity range."""

    def __init__(self, n, size=32, sigma=0.2, seed=0):
        g = torch.Generator().manual_seed(seed)
        base = F.interpolate(torch.rand(n, 1, 6, 6, generator=g), size=size, mode="bicubic")
        gain = torch.rand(n, 1, 1, 1, generator=g) * 3 + 0.2
        offset = torch.rand(n, 1, 1, 1, generator=g) * 2
        self.clean = base * gain + offset
        noise = torch.randn(base.shape, generator=g) * sigma * gain
        self.noisy = self.clean + noise

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.clean[i], self.noisy[i]


class Metric:
    def __init__(self, norm_inputs=None):
        if norm_inputs not in (None, "min_max", "standardize"):
            raise ValueError("unknown norm_inputs %r" % (norm_inputs,))
        self.norm_inputs = norm_inputs

    def normalise(self, x_net, x):
        if self.norm_inputs == "standardize":
            x_net = (x_net - x_net.mean()) / x_net.std() * x.std() + x.mean()
        elif self.norm_inputs == "min_max":
            lo, hi = x_net.amin((1, 2, 3), keepdim=True), x_net.amax((1, 2, 3), keepdim=True)
            x_net = (x_net - lo) / (hi - lo)
        return x_net

    def __call__(self, x_net, x):
        return self.metric(self.normalise(x_net, x), x)


class PSNR(Metric):
    def metric(self, x_net, x):
        mse = ((x_net - x) ** 2).mean(dim=(1, 2, 3))
        span = x.amax((1, 2, 3)) - x.amin((1, 2, 3))
        return 10 * torch.log10(span ** 2 / mse)


class NMSE(Metric):
    def metric(self, x_net, x):
        return ((x_net - x) ** 2).sum(dim=(1, 2, 3)) / (x ** 2).sum(dim=(1, 2, 3))


class Denoiser(nn.Module):
    """Works on instance normalised input and gives back an image without absolute scale."""

    def __init__(self, width=16):
        super().__init__()
        self.norm = nn.InstanceNorm2d(1)
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, y):
        y = self.norm(y)
        return y - self.net(y)


def evaluate(model, loader, metrics):
    model.eval()
    sums = {name: 0.0 for name in metrics}
    n = 0
    with torch.no_grad():
        for x, y in loader:
            x_net = model(y)
            for name, metric in metrics.items():
                sums[name] += metric(x_net, x).sum().item()
            n += x.size(0)
    return {name: value / n for name, value in sums.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=16)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(Scans(256, seed=1), batch_size=args.batch_size, shuffle=True)
    test_set = Scans(64, seed=2)
    metrics = {"PSNR": PSNR(norm_inputs="standardize"), "NMSE": NMSE(norm_inputs="standardize")}
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    reference = nn.InstanceNorm2d(1)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = F.mse_loss(model(y), reference(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scores = evaluate(model, DataLoader(test_set, batch_size=args.batch_size), metrics)
        print("epoch %d  loss %.4f  " % (epoch, total / len(train_loader)),
              "  ".join("%s %.4f" % item for item in scores.items()))


if __name__ == "__main__":
    main()
