import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

NUM_CLASSES = 20


class SatelliteSeries(Dataset):
    """image time series (T, C, H, W) and a map of crop types"""

    def __init__(self, n=12, t=6, c=10, size=32):
        self.series = torch.randn(n, t, c, size, size)
        self.maps = torch.randint(0, NUM_CLASSES, (n, 1, size, size))

    def __len__(self):
        return self.series.size(0)

    def __getitem__(self, idx):
        return self.series[idx], self.maps[idx]


class TemporalSeg(nn.Module):
    def __init__(self, in_channels=10, width=16, num_classes=NUM_CLASSES):
        super().__init__()
        self.spatial = nn.Sequential(
            nn.Conv2d(in_channels, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU())
        self.score = nn.Conv2d(width, 1, 1)
        self.out_conv = nn.Conv2d(width, num_classes, 1)

    def forward(self, x):
        b, t, c, h, w = x.shape
        feat = self.spatial(x.view(b * t, c, h, w))
        attn = self.score(feat).view(b, t, 1, h, w).softmax(dim=1)
        feat = (feat.view(b, t, -1, h, w) * attn).sum(dim=1)
        return self.out_conv(feat)


torch.manual_seed(0)
loader = DataLoader(SatelliteSeries(), batch_size=2, shuffle=True)
model = TemporalSeg()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    model.train()
    epoch_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch}: {epoch_loss / len(loader):.4f}")
