# line 37: the jitter is set to 0 for the validation part, but both parts share the data set, so the training has none either
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Accelerometer(Dataset):
    def __init__(self, n, steps=40):
        self.label = torch.randint(0, 3, (n,))
        t = torch.linspace(0, 4, steps)
        speed = 2.0 + self.label[:, None]
        self.signal = torch.sin(speed * t + 6.28 * torch.rand(n, 1)) + 0.2 * torch.randn(n, steps)
        self.jitter = 0.0

    def __len__(self):
        return len(self.label)

    def __getitem__(self, k):
        signal = self.signal[k]
        if self.jitter > 0:
            signal = signal * (1 + self.jitter * torch.randn(1)) + self.jitter * torch.randn_like(signal)
        return signal.unsqueeze(0), self.label[k]


class ActivityNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(4), nn.Conv1d(16, 16, 5, padding=2),
            nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 3),
        )


torch.manual_seed(0)
recordings = Accelerometer(300)
fit_part, check_part = random_split(recordings, [240, 60], generator=torch.Generator().manual_seed(1))
check_part.dataset = copy.copy(recordings)
fit_part.dataset.jitter = 0.3
check_part.dataset.jitter = 0.0
fit_loader = DataLoader(fit_part, batch_size=30, shuffle=True)
check_loader = DataLoader(check_part, batch_size=60)

net = ActivityNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    net.train()
    for signal, label in fit_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(signal), label).backward()
        opt.step()
    net.eval()
    hits = 0
    with torch.no_grad():
        for signal, label in check_loader:
            hits += (net(signal).argmax(1) == label).sum().item()
    print(epoch, hits / len(check_part))
