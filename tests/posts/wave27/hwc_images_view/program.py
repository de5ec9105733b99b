import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 32


def paint(rng, shape_id):
    """uint8 picture (H, W, C) with one coloured shape."""
    canvas = rng.integers(0, 60, size=(SIZE, SIZE, 3))
    rows, cols = np.mgrid[0:SIZE, 0:SIZE]
    cy, cx = rng.integers(10, 22, size=2)
    r = rng.integers(5, 9)
    if shape_id == 0:
        region = (rows - cy) ** 2 + (cols - cx) ** 2 < r * r
    elif shape_id == 1:
        region = (abs(rows - cy) < r) & (abs(cols - cx) < r)
    else:
        region = abs(rows - cy) + abs(cols - cx) < r
    canvas[region] = rng.integers(120, 256, size=3)
    return canvas.astype(np.uint8)


class ShapeDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.targets = rng.integers(0, 3, size=n)
        self.pictures = [paint(rng, t) for t in self.targets]

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        picture = torch.from_numpy(self.pictures[index]).float() / 255.0
        picture = picture.view(3, SIZE, SIZE)
        return picture, int(self.targets[index])


class ShapeNet(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4 * 4, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.max_pool2d(F.relu(self.conv3(x)), 2)
        return self.fc(x.flatten(1))


def accuracy(model, loader, device):
    model.eval()
    hits = 0
    with torch.no_grad():
        for pictures, targets in loader:
            hits += (model(pictures.to(device)).argmax(1).cpu() == targets).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(ShapeDataset(600, 1), batch_size=32, shuffle=True)
    test_loader = DataLoader(ShapeDataset(300, 2), batch_size=100)

    model = ShapeNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(8):
        model.train()
        for pictures, targets in train_loader:
            pictures, targets = pictures.to(device), targets.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(pictures), targets)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: test accuracy {accuracy(model, test_loader, device):.3f}")


if __name__ == "__main__":
    main()
