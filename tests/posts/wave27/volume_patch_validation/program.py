import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PATCH = 16


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image, label):
        for transform in self.transforms:
            image, label = transform(image, label)
        return image, label


class RandomFlip:
    def __call__(self, image, label):
        dims = [d for d in (1, 2, 3) if random.random() < 0.5]
        return image.flip(dims), label.flip(dims)


class BlackBox:
    """Blanks out a random box, like a damaged tile."""

    def __init__(self, size=8, probability=0.7):
        self.size, self.probability = size, probability

    def __call__(self, image, label):
        if random.random() < self.probability:
            image = image.clone()
            z, y, x = (random.randint(0, PATCH - self.size) for _ in range(3))
            image[:, z:z + self.size, y:y + self.size, x:x + self.size] = 0
        return image, label


class GaussianNoise:
    def __init__(self, sigma=0.3):
        self.sigma = sigma

    def __call__(self, image, label):
        return image + torch.randn_like(image) * random.uniform(0, self.sigma), label


class PatchDataset(Dataset):
    def __init__(self, n, seed, transform=None):
        generator = torch.Generator().manual_seed(seed)
        field = torch.randn(n, 1, PATCH, PATCH, PATCH, generator=generator)
        smooth = F.avg_pool3d(field, 5, stride=1, padding=2)
        self.labels = (smooth > 0.05).float()
        noise = torch.randn(self.labels.shape, generator=generator)
        self.images = self.labels * 1.5 + 0.4 * noise
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image, label = self.images[index], self.labels[index]
        if self.transform is not None:
            image, label = self.transform(image, label)
        return image, label


def dice(logits, labels):
    predicted = (logits > 0).float()
    return (2 * (predicted * labels).sum() / (predicted.sum() + labels.sum())).item()


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        scores = [dice(model(image), label) for image, label in loader]
    return sum(scores) / len(scores)


def main():
    torch.manual_seed(0)
    random.seed(0)
    augmentation = Compose([RandomFlip(), BlackBox(), GaussianNoise()])
    training = PatchDataset(48, seed=1, transform=augmentation)
    validation = PatchDataset(16, seed=2, transform=augmentation)
    training_loader = DataLoader(training, batch_size=4, shuffle=True)
    validation_loader = DataLoader(validation, batch_size=8)

    model = nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv3d(8, 8, 3, padding=1), nn.ReLU(),
        nn.Conv3d(8, 1, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(10):
        model.train()
        for image, label in training_loader:
            loss = F.binary_cross_entropy_with_logits(model(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f} validation dice {validate(model, validation_loader):.3f}")


if __name__ == "__main__":
    main()
