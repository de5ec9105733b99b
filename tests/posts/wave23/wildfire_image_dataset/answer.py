import os
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class VisionMixin:
    """Helpers shared by the image datasets."""

    extensions = (".png", ".jpg", ".jpeg")

    @staticmethod
    def load_image(path, to_tensor=True):
        image = Image.open(path).convert("RGB")
        if to_tensor:
            image = transforms.functional.to_tensor(image)
        return image

    @classmethod
    def list_images(cls, folder):
        return sorted(f for f in os.listdir(folder) if f.lower().endswith(cls.extensions))


class WildFireDataset(VisionMixin, Dataset):
    def __init__(self, metadata, image_dir, target="fire"):
        self.metadata = metadata.reset_index(drop=True)
        self.image_dir = image_dir
        self.target = target
        missing = set(self.metadata["image"]) - set(self.list_images(image_dir))
        if missing:
            raise FileNotFoundError(f"{len(missing)} images are missing")

    def __len__(self):
        return len(self.metadata)

    def __getitem__(self, index):
        row = self.metadata.iloc[index]
        image = self.load_image(os.path.join(self.image_dir, row["image"]))
        label = torch.tensor([row[self.target]], dtype=torch.long)
        return image, label


def write_images(folder, n):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        fire = int(i % 2)
        pixels = rng.integers(0, 160, size=(64, 64, 3), dtype=np.uint8)
        if fire:
            pixels[20:40, 20:40, 0] = 255
        name = f"frame_{i:03d}.png"
        Image.fromarray(pixels).save(os.path.join(folder, name))
        rows.append({"image": name, "fire": fire})
    return pd.DataFrame(rows)


def build_model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(16 * 16, 2),
    )


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        metadata = write_images(folder, 48)
        train_set = WildFireDataset(metadata, folder)
        train_loader = DataLoader(train_set, batch_size=8, shuffle=True)

        model = build_model().to(device)
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for epoch in range(3):
            for i, (images, labels) in enumerate(train_loader):
                images = images.to(device)
                labels = labels.squeeze(1).to(device)
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
