import torch
import torch.nn as nn
from einops.layers.torch import Rearrange
from torch.utils.data import DataLoader, Dataset


class GrayImages(Dataset):
    def __init__(self, n=32, size=64):
        yy, xx = torch.meshgrid(torch.linspace(0, 1, size), torch.linspace(0, 1, size), indexing='ij')
        g = torch.Generator().manual_seed(0)
        k = torch.rand(n, 2, 1, 1, generator=g) * 6
        self.gray = torch.sin(k[:, :1] * yy + k[:, 1:] * xx) * 0.5 + 0.5
        self.color = (self.gray[:, 0] * 3.999).long()

    def __len__(self):
        return len(self.gray)

    def __getitem__(self, i):
        return self.gray[i], self.color[i]


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class PatchColorNet(nn.Module):
    def __init__(self, patches=4, width=16, bins=4):
        super().__init__()
        self.patches = patches
        self.to_patches = Rearrange('b c (h1 h) (w1 w) -> (b h1 w1) c h w', h1=self.patches, w1=self.patches)
        self.enc1 = conv_block(1, width)
        self.enc2 = conv_block(width, width * 2)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode='nearest')
        self.dec = conv_block(width * 3, width)
        self.out = nn.Conv2d(width, bins, 1)
        self.rearrange = Rearrange('(b h1 w1) c h w -> b c (h1 h) (w1 w)', h1=self.patches, w1=self.patches)

    def forward(self, x):
        x = self.to_patches(x)
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        d = self.dec(torch.cat([e1, self.up(e2)], dim=1))
        return self.rearrange(self.out(d))


def train(epochs=3, batch_size=8, lr=2e-3):
    torch.manual_seed(0)
    loader = DataLoader(GrayImages(), batch_size=batch_size, shuffle=True)
    net = PatchColorNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        total, hits, pixels = 0.0, 0, 0
        for gray, color in loader:
            colors = net(gray)
            loss = criterion(colors, color)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            hits += (colors.argmax(1) == color).sum().item()
            pixels += color.numel()
        print(f'epoch {epoch + 1}: loss {total / len(loader):.4f} acc {hits / pixels:.3f}')


if __name__ == '__main__':
    train()
