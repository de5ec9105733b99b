import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class LungSlices(Dataset):
    def __init__(self, n=24, size=100):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        cy, cx = torch.randint(25, self.size - 25, (2,), generator=g)
        mask = (((yy - cy) ** 2 + (xx - cx) ** 2) < 18 ** 2).float().unsqueeze(0)
        image = mask + 0.4 * torch.randn(1, self.size, self.size, generator=g)
        return image, mask


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.down1 = double_conv(1, base)
        self.down2 = double_conv(base, base * 2)
        self.down3 = double_conv(base * 2, base * 4)
        self.bottom = double_conv(base * 4, base * 8)
        self.pool = nn.MaxPool2d(2)
        self.up3 = nn.ConvTranspose2d(base * 8, base * 4, 2, stride=2)
        self.dec3 = double_conv(base * 8, base * 4)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.dec2 = double_conv(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.dec1 = double_conv(base * 2, base)
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(self.pool(d1))
        d3 = self.down3(self.pool(d2))
        b = self.bottom(self.pool(d3))
        u3 = self.up3(b)
        u3 = self.dec3(torch.cat([d3, u3], dim=1))
        u2 = self.up2(u3)
        u2 = self.dec2(torch.cat([d2, u2], dim=1))
        u1 = self.up1(u2)
        u1 = self.dec1(torch.cat([d1, u1], dim=1))
        return self.out(u1)


def dice(logits, target, eps=1e-6):
    pred = (torch.sigmoid(logits) > 0.5).float()
    inter = (pred * target).sum((1, 2, 3))
    return ((2 * inter + eps) / (pred.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


torch.manual_seed(0)
loader = DataLoader(LungSlices(), batch_size=6, shuffle=True)
model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    for image, mask in loader:
        optimizer.zero_grad()
        logits = model(image)
        loss = F.binary_cross_entropy_with_logits(logits, mask)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}, dice {dice(logits.detach(), mask).item():.3f}")
