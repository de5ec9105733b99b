# line 27: frames of uint8 are subtracted by torch.diff before they become floats
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(6)
torch.manual_seed(6)


class Clips(Dataset):
    """Short grey clips, labelled by the direction of a moving square."""

    def __init__(self, n, frames=5, size=20):
        self.video = rng.integers(90, 110, (n, frames, size, size)).astype(np.uint8)
        self.label = rng.integers(0, 2, n)
        for i in range(n):
            for f in range(frames):
                x = 2 + 2 * f if self.label[i] else 12 - 2 * f
                self.video[i, f, 6:12, x : x + 5] += 80

    def __len__(self):
        return len(self.video)

    def __getitem__(self, i):
        frames = torch.from_numpy(self.video[i])
        motion = torch.diff(frames, dim=0)
        return motion.to(torch.float32).div(255), int(self.label[i])


class MotionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(4, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU()
        )
        self.fc = nn.LazyLinear(2)

    def forward(self, motion):
        return self.fc(self.conv(motion).flatten(1))


net = MotionNet()
net(torch.zeros(1, 4, 20, 20))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(3):
    for motion, label in DataLoader(Clips(64), 16, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(motion), label)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
