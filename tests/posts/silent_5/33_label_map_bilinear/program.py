import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


def resize_pair(image, mask, size):
    image = F.interpolate(image[None], size=size, mode="bilinear", align_corners=False)[0]
    mask = F.interpolate(mask[None, None].float(), size=size, mode="bilinear", align_corners=False)
    return image, mask[0, 0].long()


class Shapes(Dataset):
    def __init__(self, n, size=(40, 40)):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        mask = torch.zeros(24, 24, dtype=torch.long)
        cls = 2 + 2 * int(torch.randint(0, 2, (1,), generator=g))
        r, c = torch.randint(0, 12, (2,), generator=g).tolist()
        mask[r:r + 10, c:c + 10] = cls
        palette = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])
        image = palette[mask].permute(2, 0, 1) + 0.1 * torch.randn(3, 24, 24, generator=g)
        return resize_pair(image, mask, self.size)


class FCN(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, classes, 2, stride=2)

    def forward(self, x):
        return self.up(self.mid(self.down(x)))


loader = DataLoader(Shapes(240), batch_size=16, shuffle=True)
net = FCN()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    net.train()
    counts = torch.zeros(5, dtype=torch.long)
    total = 0.0
    for image, mask in loader:
        loss = F.cross_entropy(net(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        counts += torch.bincount(mask.flatten(), minlength=5)
    print(f"epoch {epoch}: loss {total / len(loader):.4f}, pixels per class {counts.tolist()}")
