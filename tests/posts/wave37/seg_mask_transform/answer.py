import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

IMG_SIZE = 64


def write_dataset(root, n, seed):
    """Bright discs on a noisy background, with 0/255 masks next to them."""
    rng = np.random.default_rng(seed)
    os.makedirs(os.path.join(root, "Images"))
    os.makedirs(os.path.join(root, "Labels"))
    yy, xx = np.mgrid[:80, :80]
    for i in range(n):
        cx, cy, r = rng.integers(20, 60), rng.integers(20, 60), rng.integers(10, 22)
        disc = (xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2
        img = rng.integers(0, 90, size=(80, 80, 3))
        img[disc] += np.array([140, 110, 60])
        name = "%03d.png" % i
        Image.fromarray(img.astype(np.uint8)).save(os.path.join(root, "Images", name))
        Image.fromarray((disc * 255).astype(np.uint8)).save(os.path.join(root, "Labels", name))


class SegmentationDataset(Dataset):
    def __init__(self, root, size=IMG_SIZE):
        self.images_dir = os.path.join(root, "Images")
        self.labels_dir = os.path.join(root, "Labels")
        self.names = sorted(os.listdir(self.images_dir))
        self.resize = transforms.Resize((size, size), interpolation=transforms.InterpolationMode.NEAREST)
        self.to_tensor = transforms.ToTensor()
        self.normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])

    def transform(self, picture):
        picture = self.to_tensor(self.resize(picture))
        return self.normalize(picture)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        image = Image.open(os.path.join(self.images_dir, self.names[index])).convert("RGB")
        mask = Image.open(os.path.join(self.labels_dir, self.names[index])).convert("RGB")
        image = self.transform(image)
        mask = self.to_tensor(self.resize(mask))
        return image, mask[:1]


def dice(logits, target):
    pred = (logits > 0).float()
    inter = (pred * target).sum(dim=(1, 2, 3))
    return ((2 * inter + 1) / (pred.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3)) + 1)).mean().item()


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total_loss, total_dice = 0.0, 0.0
    with torch.set_grad_enabled(training):
        for images, masks in loader:
            logits = model(images)["out"]
            loss = criterion(logits, masks)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total_loss += loss.item()
            total_dice += dice(logits, masks)
    return total_loss / len(loader), total_dice / len(loader)


def main():
    torch.manual_seed(0)
    root = tempfile.mkdtemp()
    write_dataset(os.path.join(root, "train"), 32, seed=0)
    write_dataset(os.path.join(root, "val"), 8, seed=1)
    train_loader = DataLoader(SegmentationDataset(os.path.join(root, "train")), batch_size=8, shuffle=True)
    val_loader = DataLoader(SegmentationDataset(os.path.join(root, "val")), batch_size=8)

    model = deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=1)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(3):
        loss, d = run_epoch(model, train_loader, criterion, optimizer)
        val_loss, val_d = run_epoch(model, val_loader, criterion)
        print("epoch %d train loss %.4f dice %.4f | val loss %.4f dice %.4f" % (epoch, loss, d, val_loss, val_d))


if __name__ == "__main__":
    main()
