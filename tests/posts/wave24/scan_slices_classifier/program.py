import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE = 64
NUM_CLASSES = 4

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class ScanDataset(Dataset):
    """Grayscale scan slices stored as one numpy array of shape (n, height, width)."""

    def __init__(self, slices, labels):
        self.slices = slices
        self.labels = labels

    def __len__(self):
        return len(self.slices)

    def __getitem__(self, index):
        image = self.slices[index].astype(np.float32) / 255.0
        return torch.from_numpy(image), int(self.labels[index])


class ScanNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(32 * 12 * 12, 64)
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def make_scans(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, NUM_CLASSES, size=n)
    slices = rng.integers(0, 120, size=(n, 48, 48))
    for i, label in enumerate(labels):
        r, c = divmod(int(label), 2)
        slices[i, r * 24:(r + 1) * 24, c * 24:(c + 1) * 24] += 100
    return slices.astype(np.uint8), labels


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * labels.size(0)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    slices, labels = make_scans(512, seed=1)
    loader = DataLoader(ScanDataset(slices, labels), batch_size=BATCH_SIZE, shuffle=True)

    model = ScanNet(NUM_CLASSES).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(3):
        loss = train_epoch(model, loader, criterion, optimizer)
        print(f"epoch {epoch + 1}: train loss {loss:.4f}")


if __name__ == "__main__":
    main()
