import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split

N_CLASSES = 8
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class RoadMaskDataset(Dataset):
    """Pairs of an RGB image and its segmentation mask."""

    def __init__(self, n_images, height=48, width=64, seed=0):
        rng = np.random.default_rng(seed)
        self.images, self.masks = [], []
        palette = rng.integers(0, 256, size=(N_CLASSES, 3))
        for _ in range(n_images):
            blocks = rng.integers(0, N_CLASSES, size=(height // 8, width // 8))
            mask = np.kron(blocks, np.ones((8, 8), dtype=np.int64))
            noise = rng.normal(0, 10, size=(height, width, 3))
            self.images.append(np.clip(palette[mask] + noise, 0, 255).astype(np.uint8))
            self.masks.append(mask.astype(np.uint8))

    def __len__(self):
        return len(self.images)

    def preprocess(self, array, is_mask):
        if is_mask:
            planes = [(array == c) for c in range(N_CLASSES)]
            return np.stack(planes).astype(np.float32)
        return array.transpose(2, 0, 1).astype(np.float32) / 255.0

    def __getitem__(self, idx):
        image = self.preprocess(self.images[idx], is_mask=False)
        mask = self.preprocess(self.masks[idx], is_mask=True)
        return {"image": torch.from_numpy(image), "mask": torch.from_numpy(mask)}


class DoubleConv(nn.Sequential):
    def __init__(self, in_channels, out_channels):
        super().__init__(
            nn.Conv2d(in_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.inc = DoubleConv(n_channels, 16)
        self.down1 = DoubleConv(16, 32)
        self.down2 = DoubleConv(32, 32)
        self.up1 = DoubleConv(64, 16)
        self.up2 = DoubleConv(32, 16)
        self.outc = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        x = self.up1(torch.cat([x2, F.interpolate(x3, scale_factor=2)], dim=1))
        x = self.up2(torch.cat([x1, F.interpolate(x, scale_factor=2)], dim=1))
        return self.outc(x)


def train_net(net, loader, epochs, lr):
    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        epoch_loss = 0.0
        for batch in loader:
            imgs = batch["image"].to(device)
            true_masks = batch["mask"].to(device, dtype=torch.long)
            masks_pred = net(imgs)
            loss = criterion(masks_pred, true_masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch + 1}/{epochs}: loss {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    dataset = RoadMaskDataset(30)
    train_set, val_set = random_split(dataset, [24, 6])
    train_loader = DataLoader(train_set, batch_size=4, shuffle=True)
    net = UNet(n_channels=3, n_classes=N_CLASSES).to(device)
    train_net(net, train_loader, epochs=3, lr=1e-3)

    net.eval()
    hits = []
    with torch.no_grad():
        for item in val_set:
            mask = net(item["image"][None].to(device)).argmax(dim=1)[0].cpu().numpy()
            hits.append(mask.shape)
    print("predicted masks:", len(hits), hits[0])
