import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
np.random.seed(5)
torch.manual_seed(5)


class SegmentationDataset(Dataset):
    def __init__(self, n, scale=0.5):
        self.scale = scale
        self.samples = []
        for _ in range(n):
            w, h = np.random.randint(90, 200), np.random.randint(90, 200)
            img = np.random.randint(0, 120, (h, w, 3), dtype=np.uint8)
            mask = np.zeros((h, w), dtype=np.uint8)
            top, left = np.random.randint(0, h // 2), np.random.randint(0, w // 2)
            mask[top:top + h // 3, left:left + w // 3] = 255
            img[mask > 0] += 100
            self.samples.append((Image.fromarray(img), Image.fromarray(mask)))

    def __len__(self):
        return len(self.samples)

    def preprocess(self, pil_img, is_mask):
        new_w, new_h = int(self.scale * 160), int(self.scale * 160)
        resample = Image.NEAREST if is_mask else Image.BICUBIC
        arr = np.asarray(pil_img.resize((new_w, new_h), resample))
        if is_mask:
            return (arr > 127).astype(np.float32)[None]
        return arr.transpose(2, 0, 1).astype(np.float32) / 255

    def __getitem__(self, i):
        img, mask = self.samples[i]
        return {
            "image": torch.from_numpy(self.preprocess(img, False)),
            "mask": torch.from_numpy(self.preprocess(mask, True)),
        }


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
    )


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = double_conv(3, 8)
        self.down = double_conv(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.dec = double_conv(16, 8)
        self.outc = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.up(self.down(self.pool(x1)))
        dy, dx = x1.size(2) - x2.size(2), x1.size(3) - x2.size(3)
        x2 = nn.functional.pad(x2, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.outc(self.dec(torch.cat([x1, x2], dim=1)))


def train_net(net, epochs=2, batch_size=4):
    train_loader = DataLoader(SegmentationDataset(24), batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0.0
        for batch in train_loader:
            imgs, masks = batch["image"].to(device), batch["mask"].to(device)
            loss = criterion(net(imgs), masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch + 1}: loss {epoch_loss / len(train_loader):.4f}")


if __name__ == "__main__":
    train_net(SmallUNet().to(device))
