import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from torchvision.models.segmentation import lraspp_mobilenet_v3_large

CLASSES = ["background", "road", "car", "person"]


class StreetDataset(Dataset):
    def __init__(self, length=16, size=64):
        self.length = length
        self.size = size
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        image = self.rng.random((self.size, self.size, 3), dtype=np.float32)
        mask = self.rng.integers(0, len(CLASSES), (self.size, self.size))
        image = torch.from_numpy(image).permute(2, 0, 1)
        return image, torch.from_numpy(mask).long()


def pixel_accuracy(logits, masks):
    return (logits.argmax(1) == masks).float().mean().item()


def train(epochs=1):
    loader = DataLoader(StreetDataset(), batch_size=4, shuffle=True)
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=len(CLASSES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    model.train()
    for epoch in range(epochs):
        for images, masks in loader:
            optimizer.zero_grad()
            logits = model(images)["out"]
            loss = criterion(logits, masks)
            loss.backward()
            optimizer.step()
            print(f"loss {loss.item():.3f} acc {pixel_accuracy(logits, masks):.3f}")


if __name__ == "__main__":
    train()
