"""Train a digit classifier and keep statistics of its activations."""
from collections import defaultdict

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class BarDigits(Dataset):
    def __init__(self, count):
        g = torch.Generator().manual_seed(count)
        self.y = torch.randint(0, 10, (count,), generator=g)
        self.x = torch.rand(count, 1, 20, 20, generator=g) * 0.2
        for i, y in enumerate(self.y):
            self.x[i, 0, :, 2 * y] = 1.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 5)
        self.relu = nn.ReLU()
        self.pool = nn.AvgPool2d(4)
        self.fc = nn.Linear(6 * 16, 10)

    def forward(self, x):
        x = self.relu(self.conv(x))
        return self.fc(self.pool(x).flatten(1))


class ActivationStats:
    def __init__(self):
        self.means = defaultdict(list)

    def watch(self, model):
        for name, module in model.named_modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                module.register_forward_hook(self.make_hook(name))

    def make_hook(self, name):
        def hook(module, output):
            self.means[name].append(output.detach().abs().mean().item())
        return hook


def main():
    torch.manual_seed(0)
    model = Net()
    stats = ActivationStats()
    stats.watch(model)
    loader = DataLoader(BarDigits(50), batch_size=10, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, f"{loss.item():.3f}",
              {name: f"{sum(m) / len(m):.3f}" for name, m in stats.means.items()})
        stats.means.clear()


if __name__ == "__main__":
    main()
