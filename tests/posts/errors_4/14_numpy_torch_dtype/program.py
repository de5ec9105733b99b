import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader


class EcgWindows(Dataset):
    def __init__(self, n=60, length=250, hz=125):
        t = np.arange(length) / hz
        rng = np.random.default_rng(5)
        self.labels = rng.integers(0, 2, n)
        freq = np.where(self.labels == 1, 2.2, 1.2)
        self.signals = np.sin(2 * np.pi * freq[:, None] * t) + 0.2 * rng.standard_normal((n, length))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        sig = self.signals[i].astype(torch.float32)
        sig = (sig - sig.mean()) / (sig.std() + 1e-6)
        return torch.from_numpy(sig)[None], torch.tensor(self.labels[i])


net = torch.nn.Sequential(
    torch.nn.Conv1d(1, 8, 15, stride=4), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool1d(8), torch.nn.Flatten(), torch.nn.Linear(64, 2),
)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(3):
    total = 0.0
    for x, y in DataLoader(EcgWindows(), batch_size=20, shuffle=True):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, round(total / 3, 4))
