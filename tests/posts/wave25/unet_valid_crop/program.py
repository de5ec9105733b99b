import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConvBlock(nn.Module):
    """Two 3x3 convolutions that keep the size."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.layers(x)


class UNet(nn.Module):
    def __init__(self, in_channels=1, num_classes=2, width=8, depth=4):
        super().__init__()
        sizes = [width * 2 ** i for i in range(depth + 1)]
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList()
        ch = in_channels
        for size in sizes[:-1]:
            self.down.append(ConvBlock(ch, size))
            ch = size
        self.bottleneck = ConvBlock(sizes[-2], sizes[-1])
        self.up = nn.ModuleList()
        self.up_conv = nn.ModuleList()
        for size in reversed(sizes[:-1]):
            self.up.append(nn.ConvTranspose2d(size * 2, size, kernel_size=2, stride=2))
            self.up_conv.append(ConvBlock(size * 2, size))
        self.out = nn.Conv2d(width, num_classes, kernel_size=1)

    def concat(self, x, y):
        """Crop x to the size of y and concatenate the two feature maps."""
        dh = (x.size(2) - y.size(2)) // 2
        dw = (x.size(3) - y.size(3)) // 2
        x = x[:, :, dh:x.size(2) - dh, dw:x.size(3) - dw]
        return torch.cat((x, y), dim=1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottleneck(x)
        for up, conv in zip(self.up, self.up_conv):
            x = conv(self.concat(skips.pop(), up(x)))
        return self.out(x)


def make_cells(n=8, size=145):
    """Bright discs on a dark background, with their masks."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    images, masks = [], []
    for _ in range(n):
        mask = torch.zeros(size, size, dtype=torch.bool)
        for _ in range(6):
            cy, cx, r = torch.randint(10, size - 10, (1,)), torch.randint(10, size - 10, (1,)), 12
            mask |= (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        images.append(mask.float() + 0.3 * torch.randn(size, size))
        masks.append(mask.long())
    return TensorDataset(torch.stack(images).unsqueeze(1), torch.stack(masks))


def center_crop(mask, height, width):
    top, left = (mask.size(1) - height) // 2, (mask.size(2) - width) // 2
    return mask[:, top:top + height, left:left + width]


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = DataLoader(make_cells(), batch_size=4, shuffle=True)
    model = UNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        total = 0.0
        for image, mask in loader:
            image, mask = image.to(device), mask.to(device)
            logits = model(image)
            loss = F.cross_entropy(logits, center_crop(mask, logits.size(2), logits.size(3)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
