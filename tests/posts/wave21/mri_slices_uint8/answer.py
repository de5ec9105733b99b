import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


def load_volume(seed, lesion):
    """One volume of 8 axial slices, 64 x 64, stored as 8 bit intensities."""
    rng = np.random.RandomState(seed)
    yy, xx = np.mgrid[:64, :64]
    head = (((xx - 32) / 24.0) ** 2 + ((yy - 32) / 28.0) ** 2) < 1
    volume = np.zeros((8, 64, 64), dtype=np.uint8)
    for s in range(8):
        image = head * rng.normal(110, 12, size=(64, 64))
        if lesion:
            cx, cy = rng.randint(20, 44, size=2)
            image[((xx - cx) ** 2 + (yy - cy) ** 2) < 25] = 230
        volume[s] = np.clip(image, 0, 255).astype(np.uint8)
    return volume


class MRIDataset(Dataset):
    def __init__(self, n_subjects=24):
        self.slices, self.labels = [], []
        for subject in range(n_subjects):
            diagnosis = subject % 2
            for s in load_volume(subject, bool(diagnosis)):
                self.slices.append(s)
                self.labels.append(diagnosis)

    def __len__(self):
        return len(self.slices)

    def __getitem__(self, idx):
        image = torch.from_numpy(self.slices[idx]).unsqueeze(0).float() / 255
        return image, self.labels[idx]


class SliceNet(nn.Module):
    def __init__(self, n_classes=2):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=5, padding=2), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(4),
            nn.Conv2d(8, 16, kernel_size=3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(4))
        self.classifier = nn.Sequential(nn.Dropout(0.3), nn.Linear(16 * 4 * 4, n_classes))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.flatten(1))


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
            total += len(labels)
    return correct / total


if __name__ == "__main__":
    torch.manual_seed(0)
    data = MRIDataset()
    train_set, val_set = random_split(data, [len(data) - 48, 48])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=16)

    model = SliceNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)

    for epoch in range(5):
        model.train()
        epoch_loss = 0.0
        for images, labels in train_loader:
            optimizer.zero_grad()
            outputs = model(images)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() * len(labels)
        print("epoch %d  train loss %.4f  val acc %.3f"
              % (epoch, epoch_loss / len(train_set), evaluate(model, val_loader)))
