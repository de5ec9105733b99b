# U-Net for segmenting cell nuclei, small images of our microscope (90 x 100)
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class NucleiDataset(Dataset):
    H, W = 90, 100

    def __init__(self, n=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(self.H), torch.arange(self.W), indexing="ij")
        self.data = []
        for _ in range(n):
            mask = torch.zeros(self.H, self.W)
            for _ in range(4):
                cy = torch.randint(8, self.H - 8, (1,), generator=g)
                cx = torch.randint(8, self.W - 8, (1,), generator=g)
                mask[(yy - cy) ** 2 + (xx - cx) ** 2 < 49] = 1.0
            img = 0.6 * mask + 0.2 * torch.rand(self.H, self.W, generator=g)
            self.data.append((img[None], mask[None]))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def double_conv(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base=6):
        super().__init__()
        self.enc1 = double_conv(1, base)
        self.enc2 = double_conv(base, base * 2)
        self.bottom = double_conv(base * 2, base * 4)
        self.pool = nn.MaxPool2d(2)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.dec2 = double_conv(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.dec1 = double_conv(base * 2, base)
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        b = self.bottom(self.pool(e2))
        d2 = self.up2(b)
        d2 = self.dec2(torch.cat([d2, e2], dim=1))
        d1 = self.up1(d2)
        d1 = self.dec1(torch.cat([d1, e1], dim=1))
        return self.out(d1)


def dice(logits, mask):
    p = (torch.sigmoid(logits) > 0.5).float()
    return (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


torch.manual_seed(0)
train_loader = DataLoader(NucleiDataset(24), batch_size=6, shuffle=True)
val_loader = DataLoader(NucleiDataset(6, seed=1), batch_size=6)
net = UNet()
bce = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(3):
    net.train()
    for img, mask in train_loader:
        opt.zero_grad()
        loss = bce(net(img), mask)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        scores = [dice(net(img), mask).item() for img, mask in val_loader]
    print(f"epoch {epoch}: bce {loss.item():.3f} dice {sum(scores) / len(scores):.3f}")
