import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 50
N_CLASSES = 3


class CellDataset(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(n)
        self.masks = torch.randint(0, N_CLASSES, (n, 1, SIZE, SIZE), generator=g)
        noise = 0.2 * torch.randn(n, 1, SIZE, SIZE, generator=g)
        self.images = self.masks.float() / N_CLASSES + noise

    def __len__(self):
        return self.images.size(0)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, in_channels=1, n_classes=N_CLASSES):
        super().__init__()
        self.down1 = double_conv(in_channels, 16)
        self.down2 = double_conv(16, 32)
        self.bottom = double_conv(32, 64)
        self.up2 = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.dec2 = double_conv(64, 32)
        self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.dec1 = double_conv(32, 16)
        self.out = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        c1 = self.down1(x)
        c2 = self.down2(F.max_pool2d(c1, 2))
        b = self.bottom(F.max_pool2d(c2, 2))
        u2 = self.up2(b)
        d2 = self.dec2(torch.cat([u2, c2], dim=1))
        u1 = self.up1(d2)
        d1 = self.dec1(torch.cat([u1, c1], dim=1))
        return F.softmax(self.out(d1), dim=1)


def train(model, loader, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for image, mask in loader:
            optimizer.zero_grad()
            output = model(image)
            loss = criterion(output, mask)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


def pixel_accuracy(model, loader):
    model.eval()
    hits = pixels = 0
    with torch.no_grad():
        for image, mask in loader:
            pred = model(image).argmax(dim=1, keepdim=True)
            hits += (pred == mask).sum().item()
            pixels += mask.numel()
    return hits / pixels


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(CellDataset(48), batch_size=8, shuffle=True)
    test_loader = DataLoader(CellDataset(16), batch_size=8)
    unet = UNet()
    train(unet, train_loader)
    print("pixel accuracy", round(pixel_accuracy(unet, test_loader), 3))
