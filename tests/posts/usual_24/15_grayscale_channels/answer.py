import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms

train_tf = transforms.Compose([
    transforms.Grayscale(num_output_channels=3),
    transforms.Resize((64, 64)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.25] * 3),
])


class ChestXrayDataset(Dataset):
    def __init__(self, n=64, transform=None):
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, 2, n)
        self.scans = []
        for label in self.labels:
            scan = rng.integers(0, 180, (96, 96), dtype=np.uint8)
            if label:
                scan[30:60, 30:60] += 70
            self.scans.append(scan)
        self.transform = transform

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, idx):
        image = Image.fromarray(self.scans[idx])
        if self.transform:
            image = self.transform(image)
        return image, int(self.labels[idx])


def train(model, loader, epochs):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for epoch in range(epochs):
        model.train()
        losses = []
        for images, labels in loader:
            optimizer.zero_grad()
            outputs = model(images)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"Epoch {epoch + 1}: {np.mean(losses):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    dataset = ChestXrayDataset(transform=train_tf)
    loader = DataLoader(dataset, batch_size=16, shuffle=True)
    model = models.resnet18(weights=None)
    model.fc = nn.Linear(model.fc.in_features, 2)
    train(model, loader, epochs=2)
