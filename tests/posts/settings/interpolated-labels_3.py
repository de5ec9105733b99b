# line 16: torchvision's resize, bilinear by default, averages the class numbers of the street mask
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as TF


class Streets(Dataset):
    """Big pictures with classes 0 sky, 1 car, 2 road, shrunk to one size."""

    def __init__(self, n, size, seed):
        self.n, self.size, self.seed = n, size, seed
        self.picture_mode = InterpolationMode.BILINEAR
        self.label_mode = InterpolationMode.BILINEAR

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        r = np.random.default_rng(self.seed + i)
        mask = np.zeros((60, 60), dtype=np.uint8)
        horizon = r.integers(20, 40)
        mask[horizon:] = 2
        left = r.integers(0, 45)
        mask[horizon - 6 : horizon + 6, left : left + 15] = 1
        picture = np.array([0.0, 2.0, -1.0])[mask] + 0.1 * r.normal(size=mask.shape)
        picture = torch.tensor(picture[None], dtype=torch.float32)
        picture = TF.resize(picture, [24, 24], interpolation=self.picture_mode)
        mask = TF.resize(torch.from_numpy(mask)[None], [24, 24], interpolation=self.label_mode)
        return picture, mask[0].long()


torch.manual_seed(0)
segmenter = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 1)
)
optimizer = torch.optim.Adam(segmenter.parameters(), lr=0.02)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(4):
    segmenter.train()
    for picture, mask in DataLoader(Streets(120, 24, 0), batch_size=12, shuffle=True):
        optimizer.zero_grad()
        loss_fn(segmenter(picture), mask).backward()
        optimizer.step()

segmenter.eval()
both, either = torch.zeros(3), torch.zeros(3)
with torch.no_grad():
    for picture, mask in DataLoader(Streets(40, 24, 5000), batch_size=20):
        guess = segmenter(picture).argmax(1)
        for c in range(3):
            both[c] += ((guess == c) & (mask == c)).sum()
            either[c] += ((guess == c) | (mask == c)).sum()
print("IoU of sky, car, road", (both / either).tolist())
