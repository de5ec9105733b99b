import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Normalize:
    """(image - mean * max_pixel_value) / (std * max_pixel_value) for height x width x channel arrays."""

    def __init__(self, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), max_pixel_value=255.0):
        self.mean = np.array(mean, dtype=np.float32) * max_pixel_value
        self.std = np.array(std, dtype=np.float32) * max_pixel_value

    def __call__(self, image):
        return (image.astype(np.float32) - self.mean) / self.std


class HorizontalFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image, mask):
        if np.random.rand() < self.p:
            return image[:, ::-1], mask[:, ::-1]
        return image, mask


class LesionDataset(Dataset):
    def __init__(self, images, masks, train=True):
        self.images = images
        self.masks = masks
        self.flip = HorizontalFlip() if train else None
        self.normalize = Normalize()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        img, mask = self.images[idx], self.masks[idx]
        if self.flip is not None:
            img, mask = self.flip(img, mask)
        img = self.normalize(img)

        img = img.astype("float32") / 255
        img = np.ascontiguousarray(img.transpose(2, 0, 1))
        mask = mask.astype("float32") / 255
        mask = np.ascontiguousarray(mask[None])
        return torch.from_numpy(img), torch.from_numpy(mask)


class Block(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class SmallUNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc = Block(3, width)
        self.mid = Block(width, width * 2)
        self.dec = Block(width * 3, width)
        self.final = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skip = self.enc(x)
        x = self.mid(F.max_pool2d(skip, 2))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        return self.final(self.dec(torch.cat([x, skip], 1)))


def make_data(count, size=32, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.integers(90, 160, size=(count, size, size, 3)).astype(np.uint8)
    masks = np.zeros((count, size, size), dtype=np.uint8)
    for image, mask in zip(images, masks):
        y, x = rng.integers(2, size - 14, size=2)
        image[y : y + 10, x : x + 10, 0] += 60
        mask[y : y + 10, x : x + 10] = 255
    return images, masks


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    loader = DataLoader(LesionDataset(*make_data(64)), batch_size=8, shuffle=True)
    model = SmallUNet()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(4):
        running = 0.0
        for img, mask in loader:
            optimizer.zero_grad()
            loss = criterion(model(img), mask)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(img)
        print(f"epoch {epoch + 1}: loss {running / len(loader.dataset):.4f}")
    print(f"last batch: min {img.min().item():.4f} max {img.max().item():.4f} std {img.std().item():.4f}")


if __name__ == "__main__":
    main()
