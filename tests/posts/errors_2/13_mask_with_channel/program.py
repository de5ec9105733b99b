import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CLASSES = 4


class Scenes(Dataset):
    def __init__(self, n=80, size=32):
        g = torch.Generator().manual_seed(5)
        coarse = torch.randint(0, CLASSES, (n, 1, size // 8, size // 8), generator=g)
        self.masks = coarse.repeat_interleave(8, 2).repeat_interleave(8, 3)
        noise = 0.2 * torch.randn(n, 3, size, size, generator=g)
        self.images = self.masks.float().expand(-1, 3, -1, -1) / CLASSES + noise

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1),
        nn.BatchNorm2d(cout),
        nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1),
        nn.BatchNorm2d(cout),
        nn.ReLU(),
    )


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = double_conv(3, 16)
        self.pool = nn.MaxPool2d(2)
        self.mid = double_conv(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.dec = double_conv(32, 16)
        self.head = nn.Conv2d(16, CLASSES, 1)

    def forward(self, x):
        skip = self.down(x)
        x = self.up(self.mid(self.pool(skip)))
        return self.head(self.dec(torch.cat([x, skip], dim=1)))


model = MiniUNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(Scenes(), batch_size=16, shuffle=True)

for epoch in range(2):
    for images, masks in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, masks.long())
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
