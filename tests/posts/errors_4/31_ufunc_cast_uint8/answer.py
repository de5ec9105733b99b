import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader

MEAN = np.array([120.0, 115.0, 104.0])
STD = np.array([58.0, 57.0, 57.5])


class SatelliteTiles(Dataset):
    def __init__(self, n=32, size=40, seed=0):
        rng = np.random.default_rng(seed)
        self.tiles = rng.integers(0, 256, (n, size, size, 3), dtype=np.uint8)
        self.cloud = rng.integers(0, 2, n)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, idx):
        img = self.tiles[idx].copy()
        if idx % 2:
            img = img[:, ::-1]
        img = img - MEAN
        img = img / STD
        chw = np.ascontiguousarray(img.transpose(2, 0, 1), dtype=np.float32)
        return torch.from_numpy(chw), int(self.cloud[idx])


torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 5, stride=3), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32, 1),
)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
bce = torch.nn.BCEWithLogitsLoss()
for x, y in DataLoader(SatelliteTiles(), batch_size=8, shuffle=True):
    loss = bce(net(x)[:, 0], y.float())
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
