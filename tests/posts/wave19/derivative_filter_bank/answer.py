import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_traces(n, length=128, seed=0):
    """Current traces with a step (class 0), a spike (class 1) or a ramp (class 2)."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 3, n)
    traces = 0.1 * rng.randn(n, length)
    for i, label in enumerate(labels):
        at = rng.randint(30, 90)
        if label == 0:
            traces[i, at:] += 1.0
        elif label == 1:
            traces[i, at:at + 3] += 2.0
        else:
            traces[i, at:] += np.linspace(0, 1.0, length - at)
    return traces, labels


def derivative_kernels(width=9):
    """Gaussian, its first and its second derivative, one kernel a row."""
    t = np.arange(width) - width // 2
    sigma = width / 6.0
    gauss = np.exp(-0.5 * (t / sigma) ** 2)
    gauss /= gauss.sum()
    first = -t / sigma ** 2 * gauss
    second = (t ** 2 / sigma ** 4 - 1 / sigma ** 2) * gauss
    return np.stack([gauss, first, second])


class TraceNet(nn.Module):
    def __init__(self, kernels, n_classes=3):
        super().__init__()
        n_filters, width = kernels.shape
        self.filters = nn.Conv2d(1, n_filters, (1, width), bias=False)
        self.filters.weight.data.copy_(torch.from_numpy(kernels).view(n_filters, 1, 1, width))
        self.filters.weight.requires_grad_(False)
        self.features = nn.Sequential(
            nn.Conv2d(n_filters, 16, (1, 5), stride=(1, 2)),
            nn.ReLU(),
            nn.Conv2d(16, 16, (1, 5), stride=(1, 2)),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.classifier = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.classifier(self.features(self.filters(x)))


def loader_for(n, seed, shuffle):
    traces, labels = make_traces(n, seed=seed)
    traces = (traces - traces.mean(axis=1, keepdims=True)) / traces.std()
    x = torch.from_numpy(traces).float().view(n, 1, 1, -1)
    y = torch.from_numpy(labels).long()
    return DataLoader(TensorDataset(x, y), batch_size=40, shuffle=shuffle)


def main():
    torch.manual_seed(0)
    train_loader = loader_for(600, seed=0, shuffle=True)
    test_loader = loader_for(200, seed=1, shuffle=False)
    model = TraceNet(derivative_kernels())
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=5e-3)

    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            correct = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} test accuracy {correct / 200:.3f}")


if __name__ == "__main__":
    main()
