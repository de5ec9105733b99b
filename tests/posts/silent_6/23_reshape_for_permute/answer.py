import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(6)
torch.manual_seed(6)


def render(n, size=24):
    """uint8 RGB tiles (H, W, C): a coloured ring or disc on clutter; class = colour x form."""
    photos = rng.integers(0, 140, (n, size, size, 3))
    yy, xx = np.mgrid[:size, :size]
    labels = rng.integers(0, 6, n)
    for i, k in enumerate(labels):
        colour, form = k % 3, k // 3
        cy, cx = rng.integers(7, size - 7, 2)
        dist = np.hypot(yy - cy, xx - cx)
        mask = (dist < 5) & (dist > (3 if form else -1))
        photos[i][mask, colour] += 110
    return photos.clip(0, 255).astype(np.uint8), labels


photos, labels = render(1500)
x = torch.from_numpy(photos).float() / 255.0
x = x.permute(0, 3, 1, 2)
y = torch.from_numpy(labels)
mean = x[:1200].mean(dim=(0, 2, 3), keepdim=True)
std = x[:1200].std(dim=(0, 2, 3), keepdim=True)
x = (x - mean) / std

train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=40, shuffle=True)
test_loader = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100)


class TileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = self._stage(3, 12)
        self.stage2 = self._stage(12, 24)
        self.pool = nn.AdaptiveMaxPool2d(1)
        self.fc = nn.Linear(24, 6)

    @staticmethod
    def _stage(cin, cout):
        return nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1),
            nn.BatchNorm2d(cout),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )

    def forward(self, img):
        h = self.stage2(self.stage1(img))
        return self.fc(self.pool(h).flatten(1))


net = TileNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)

for epoch in range(9):
    net.train()
    total = 0.0
    for img, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(img), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    net.eval()
    right = 0
    with torch.no_grad():
        for img, target in test_loader:
            right += (net(img).argmax(1) == target).sum().item()
    print(f"epoch {epoch + 1} loss {total / 1200:.3f} test acc {right / 300:.3f}")
