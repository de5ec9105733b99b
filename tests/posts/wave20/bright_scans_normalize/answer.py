import numpy as np
import torch
import torch.nn as nn
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

def draw_scan(rng, label, size=32):
    page = np.full((size, size, 3), 250, dtype=np.float32)
    page += 4 * rng.randn(size, size, 3)
    if label == 0:
        for row in range(4, size, 6):
            page[row:row + 2, 3:size - 3] -= rng.randint(60, 140)
    elif label == 1:
        page[8:24, 8:24, :2] -= rng.randint(60, 140)
    else:
        r = np.hypot(*np.meshgrid(np.arange(size) - 16, np.arange(size) - 16))
        page[(r > 7) & (r < 11)] -= rng.randint(60, 140)
    return Image.fromarray(page.clip(0, 255).astype(np.uint8))


class ScanDataset(Dataset):
    def __init__(self, n, transform, seed=0):
        rng = np.random.RandomState(seed)
        self.labels = rng.randint(0, 3, n)
        self.images = [draw_scan(rng, lab) for lab in self.labels]
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.labels[i])


def channel_stats(n=300, seed=0):
    raw = ScanDataset(n, transforms.ToTensor(), seed=seed)
    stack = torch.stack([raw[i][0] for i in range(len(raw))])
    return stack.mean(dim=(0, 2, 3)).tolist(), stack.std(dim=(0, 2, 3)).tolist()


def channel_report(dataset):
    stack = torch.stack([dataset[i][0] for i in range(len(dataset))])
    for c in range(3):
        print(f"channel {c}: mean {stack[:, c].mean():.4f} std {stack[:, c].std():.4f}")


def main():
    torch.manual_seed(0)
    mean, std = channel_stats()
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean=mean, std=std)])
    train_set = ScanDataset(300, transform, seed=0)
    test_set = ScanDataset(90, transform, seed=1)
    channel_report(train_set)

    train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=30)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 6 * 6, 3),
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

    for epoch in range(5):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
        print(f"epoch {epoch}: loss {loss.item():.4f} acc {hits / len(test_set):.3f}")


if __name__ == "__main__":
    main()
