import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ResizePair:
    def __init__(self, size):
        self.size = (size, size)

    def __call__(self, image, mask):
        image = F.interpolate(image[None], size=self.size, mode="bilinear", align_corners=False)[0]
        mask = mask[None, None].float()
        mask = F.interpolate(mask, size=self.size, mode="nearest")
        return image, mask[0, 0].long()


class StreetScenes(Dataset):
    """0 background, 1 road, 2 car, 3 building, 4 sky"""

    def __init__(self, n, transform):
        self.transform = transform
        self.samples = []
        for _ in range(n):
            mask = torch.zeros(40, 40, dtype=torch.long)
            horizon = int(torch.randint(12, 20, (1,)))
            mask[:horizon] = 4
            mask[28:] = 1
            b = int(torch.randint(0, 25, (1,)))
            mask[8:30, b:b + 10] = 3
            c = int(torch.randint(0, 32, (1,)))
            mask[30:35, c:c + 7] = 2
            image = F.one_hot(mask, 5).permute(2, 0, 1)[1:4].float() + 0.2 * torch.randn(3, 40, 40)
            self.samples.append((image, mask))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.transform(*self.samples[i])


class SegNet(nn.Module):
    def __init__(self, n_classes=5, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, ch, 3, padding=2, dilation=2), nn.BatchNorm2d(ch), nn.ReLU(),
            nn.Conv2d(ch, n_classes, 1),
        )

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    tf = ResizePair(28)
    train_loader = DataLoader(StreetScenes(96, tf), batch_size=16, shuffle=True)
    val_loader = DataLoader(StreetScenes(24, tf), batch_size=24)
    model = SegNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        model.train()
        for image, mask in train_loader:
            loss = F.cross_entropy(model(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).float().mean().item() for x, y in val_loader) / len(val_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} pixel acc {acc:.3f}")


main()
