import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class PolypDataset(Dataset):
    """Synthetic endoscopy frames with one round polyp."""

    def __init__(self, n, size=48, seed=0):
        self.n, self.size = n, size
        g = torch.Generator().manual_seed(seed)
        self.centers = torch.randint(12, size - 12, (n, 2), generator=g)
        self.radius = torch.randint(5, 11, (n,), generator=g)
        self.noise = torch.randn(n, 3, size, size, generator=g)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        dist = (yy - self.centers[i, 0]) ** 2 + (xx - self.centers[i, 1]) ** 2
        mask = (dist <= self.radius[i] ** 2).float()
        image = 0.5 * self.noise[i]
        image[0] += mask
        mask = mask.unsqueeze(0)
        return image, mask


def block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True)
    )


class SegNet(nn.Module):
    def __init__(self, n_classes=2):
        super().__init__()
        self.enc1 = block(3, 16)
        self.enc2 = block(16, 32)
        self.dec1 = block(32 + 16, 16)
        self.head = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        up = F.interpolate(e2, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.dec1(torch.cat([up, e1], dim=1)))


class IoUMeter:
    def __init__(self):
        self.inter, self.union = 0, 0

    def update(self, logits, mask):
        pred = logits.softmax(dim=0).argmax(dim=1) == 1
        target = mask == 1
        self.inter += (pred & target).sum().item()
        self.union += (pred | target).sum().item()

    def value(self):
        return self.inter / max(self.union, 1)


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for image, mask in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), mask)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    meter = IoUMeter()
    for image, mask in loader:
        meter.update(model(image), mask)
    return meter.value()


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(PolypDataset(96, seed=1), batch_size=8, shuffle=True)
    val_loader = DataLoader(PolypDataset(24, seed=2), batch_size=8)
    model = SegNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        loss = train_one_epoch(model, train_loader, optimizer, criterion)
        print(f"epoch {epoch + 1} loss {loss:.3f} IoU {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
