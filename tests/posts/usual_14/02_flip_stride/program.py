# Course project 2: classify handwritten arrows (left / right / up / down).
# A mirrored left arrow is a right arrow, so the label is swapped when we flip.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

NAMES = ["left", "right", "up", "down"]
rng = np.random.default_rng(3)


def draw_arrow(direction, size=24):
    img = np.zeros((size, size), dtype=np.float32)
    mid = size // 2 + rng.integers(-2, 3)
    img[mid - 1:mid + 1, 4:size - 4] = 1.0
    for k in range(5):
        img[mid - k - 1, 4 + k] = 1.0
        img[mid + k, 4 + k] = 1.0
    if direction == 1:
        img = img[:, ::-1]
    elif direction == 2:
        img = img.T
    elif direction == 3:
        img = img.T[::-1]
    noise = rng.normal(0, 0.15, img.shape).astype(np.float32)
    return np.ascontiguousarray(img) + noise


class Arrows(Dataset):
    def __init__(self, n, train):
        self.train = train
        self.y = rng.integers(0, 4, n)
        self.x = np.stack([draw_arrow(d) for d in self.y])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, idx):
        img = self.x[idx]
        label = int(self.y[idx])
        if self.train and np.random.rand() < 0.5:
            img = np.fliplr(img)
            if label < 2:
                label = 1 - label
        img = torch.from_numpy(img).unsqueeze(0)
        return img, label


class ArrowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 6 * 6, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def accuracy(net, loader):
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (net(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    train_loader = DataLoader(Arrows(800, train=True), batch_size=32, shuffle=True)
    test_loader = DataLoader(Arrows(200, train=False), batch_size=100)

    net = ArrowNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        net.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print("epoch %d  loss %.3f  test acc %.3f" % (epoch + 1, running / len(train_loader), accuracy(net, test_loader)))


if __name__ == "__main__":
    main()
