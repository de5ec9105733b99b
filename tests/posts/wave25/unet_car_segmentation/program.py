import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from torchvision.models import resnet18

CLASSES = ["car"]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class StreetDataset(Dataset):
    """Street scenes with binary car masks."""

    def __init__(self, n_images=16, size=128, augmentation=None):
        rng = np.random.RandomState(3)
        self.images = rng.randint(0, 256, size=(n_images, size, size, 3)).astype("uint8")
        self.masks = (rng.rand(n_images, size, size, len(CLASSES)) > 0.7).astype("float32")
        self.augmentation = augmentation

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        mask = self.masks[i]
        if self.augmentation is not None:
            image, mask = self.augmentation(image, mask)
        image = image.astype("float32") / 255.0
        mask = mask.transpose(2, 0, 1)
        return image, mask


def horizontal_flip(image, mask):
    if np.random.rand() < 0.5:
        return image[:, ::-1].copy(), mask[:, ::-1].copy()
    return image, mask


class DecoderBlock(nn.Module):
    def __init__(self, in_ch, skip_ch, out_ch):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch + skip_ch, out_ch, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_ch),
            nn.ReLU(inplace=True),
        )

    def forward(self, x, skip=None):
        x = nn.functional.interpolate(x, scale_factor=2, mode="nearest")
        if skip is not None:
            x = torch.cat([x, skip], dim=1)
        return self.conv(x)


class Unet(nn.Module):
    def __init__(self, classes=1):
        super().__init__()
        net = resnet18(weights=None)
        self.stem = nn.Sequential(net.conv1, net.bn1, net.relu)
        self.pool = net.maxpool
        self.layer1, self.layer2 = net.layer1, net.layer2
        self.layer3, self.layer4 = net.layer3, net.layer4
        self.up1 = DecoderBlock(512, 256, 128)
        self.up2 = DecoderBlock(128, 128, 64)
        self.up3 = DecoderBlock(64, 64, 32)
        self.up4 = DecoderBlock(32, 64, 32)
        self.up5 = DecoderBlock(32, 0, 16)
        self.head = nn.Conv2d(16, classes, 3, padding=1)

    def forward(self, x):
        f1 = self.stem(x)
        f2 = self.layer1(self.pool(f1))
        f3 = self.layer2(f2)
        f4 = self.layer3(f3)
        f5 = self.layer4(f4)
        x = self.up1(f5, f4)
        x = self.up2(x, f3)
        x = self.up3(x, f2)
        x = self.up4(x, f1)
        return self.head(self.up5(x))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for images, masks in loader:
        images, masks = images.to(DEVICE), masks.to(DEVICE)
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, masks)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    train_set = StreetDataset(augmentation=horizontal_flip)
    train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
    model = Unet(classes=len(CLASSES)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(2):
        loss = train_epoch(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f}")


if __name__ == "__main__":
    main()
