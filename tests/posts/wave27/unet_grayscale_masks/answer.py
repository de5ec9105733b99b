import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import Dataset, DataLoader


class DoubleConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
            nn.Conv2d(out_ch, out_ch, 3, padding=1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.block(x)


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.inc = DoubleConv(n_channels, 16)
        self.down1 = DoubleConv(16, 32)
        self.down2 = DoubleConv(32, 64)
        self.up1 = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.dec1 = DoubleConv(64, 32)
        self.up2 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.dec2 = DoubleConv(32, 16)
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        y = self.dec1(torch.cat([x2, self.up1(x3)], dim=1))
        y = self.dec2(torch.cat([x1, self.up2(y)], dim=1))
        return self.outc(y)


def load_scan(index, size=96):
    rng = np.random.default_rng(index)
    scan = rng.integers(0, 120, (size, size)).astype(np.uint8)
    mask = np.zeros((size, size), dtype=np.uint8)
    top, left = rng.integers(8, size // 2, 2)
    mask[top:top + 24, left:left + 24] = 255
    scan[mask > 0] += 100
    return Image.fromarray(scan), Image.fromarray(mask)


class ScanDataset(Dataset):
    def __init__(self, length, scale=0.5):
        self.length = length
        self.scale = scale

    def __len__(self):
        return self.length

    def preprocess(self, pil_img):
        w, h = pil_img.size
        pil_img = pil_img.resize((int(self.scale * w), int(self.scale * h)))
        arr = np.array(pil_img)
        if arr.ndim == 2:
            arr = arr[:, :, None]
        return arr.transpose((2, 0, 1)).astype(np.float32) / 255

    def __getitem__(self, i):
        img, mask = load_scan(i)
        image = self.preprocess(img.convert("RGB"))
        target = (self.preprocess(mask) > 0.5).astype(np.float32)
        return torch.from_numpy(image), torch.from_numpy(target)


def train_net(net, device, epochs=2, batch_size=4, lr=1e-3):
    loader = DataLoader(ScanDataset(24), batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0
        for imgs, true_masks in loader:
            imgs = imgs.to(device)
            true_masks = true_masks.to(device)
            masks_pred = net(imgs)
            loss = criterion(masks_pred, true_masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch + 1}: loss {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = UNet(n_channels=3, n_classes=1).to(device)
    train_net(net, device)
