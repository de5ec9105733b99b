import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class RoadUNet(nn.Module):
    def __init__(self, in_channels=3, out_channels=1):
        super(RoadUNet, self).__init__()

        # contracting path
        self.enc1 = self.double_conv(in_channels, 8)
        self.enc2 = self.double_conv(8, 16)
        self.enc3 = self.double_conv(16, 32)
        self.enc4 = self.double_conv(32, 64)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)

        self.bottom = self.double_conv(64, 128)

        # expanding path
        self.dec4 = self.up(128, 64)
        self.dec3 = self.up(128, 32)
        self.dec2 = self.up(64, 16)
        self.dec1 = self.up(32, 8)

        self.final = nn.Conv2d(16, out_channels, kernel_size=1)

    def double_conv(self, in_channels, out_channels):
        return nn.Sequential(
            nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
        )

    def up(self, in_channels, out_channels):
        return nn.Sequential(
            nn.ConvTranspose2d(in_channels, out_channels, kernel_size=2, stride=2),
            self.double_conv(in_channels, out_channels),
        )

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        e3 = self.enc3(self.pool(e2))
        e4 = self.enc4(self.pool(e3))

        b = self.bottom(self.pool(e4))

        d4 = torch.cat((self.dec4(b), e4), dim=1)
        d3 = torch.cat((self.dec3(d4), e3), dim=1)
        d2 = torch.cat((self.dec2(d3), e2), dim=1)
        d1 = torch.cat((self.dec1(d2), e1), dim=1)
        return self.final(d1)


def aerial_tiles(n, size=64):
    tiles = torch.rand(n, 3, size, size) * 0.5
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        col = torch.randint(0, size - 8, (1,)).item()
        masks[i, 0, :, col:col + 6] = 1.0
        tiles[i] += 0.5 * masks[i]
    return TensorDataset(tiles, masks)


def dice(logits, masks):
    pred = (torch.sigmoid(logits) > 0.5).float()
    return (2 * (pred * masks).sum() / (pred.sum() + masks.sum() + 1e-6)).item()


if __name__ == "__main__":
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = RoadUNet().to(device)
    loader = DataLoader(aerial_tiles(24), batch_size=4, shuffle=True)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(3):
        running, score = 0.0, 0.0
        for tiles, masks in loader:
            tiles, masks = tiles.to(device), masks.to(device)
            optimizer.zero_grad()
            logits = model(tiles)
            loss = criterion(logits, masks)
            loss.backward()
            optimizer.step()
            running += loss.item()
            score += dice(logits, masks)
        print(f"Epoch {epoch + 1}: loss {running / len(loader):.4f} dice {score / len(loader):.3f}")
