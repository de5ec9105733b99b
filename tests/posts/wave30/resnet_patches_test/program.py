import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

CLASSES = 5
SIDE = 20


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.shortcut = nn.Sequential()
        if stride != 1 or cin != cout:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.layers = nn.Sequential(BasicBlock(16, 16), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2))
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        out = self.layers(self.stem(x))
        return self.fc(F.adaptive_avg_pool2d(out, 1).flatten(1))


class Patches(Dataset):
    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.labels[i])


def draw(n, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, CLASSES, n)
    yy, xx = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    images = np.empty((n, SIDE, SIDE, 3), dtype=np.uint8)
    for i, c in enumerate(labels):
        angle = np.pi * c / CLASSES
        stripe = np.sin(2 * np.pi * 4 * (np.cos(angle) * xx + np.sin(angle) * yy) + rng.uniform(0, 6))
        base = np.array([96, 104, 88]) + 9 * stripe[..., None]
        images[i] = np.clip(base + rng.normal(0, 12, (SIDE, SIDE, 3)), 0, 255)
    return images, labels


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, correct, count = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for image, label in loader:
            logits = model(image)
            loss = criterion(logits, label)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(label)
            correct += (logits.argmax(1) == label).sum().item()
            count += len(label)
    return loss_sum / count, correct / count


def main():
    torch.manual_seed(1)
    train_images, train_labels = draw(400, 0)
    test_images, test_labels = draw(150, 1)
    mean = (train_images / 255.0).mean(axis=(0, 1, 2)).tolist()
    std = (train_images / 255.0).std(axis=(0, 1, 2)).tolist()

    train_transform = transforms.Compose([
        transforms.ToTensor(),
        transforms.Normalize(mean, std),
    ])
    test_transform = transforms.Compose([
        transforms.ToTensor(),
    ])

    train_loader = DataLoader(Patches(train_images, train_labels, train_transform), batch_size=32, shuffle=True)
    test_loader = DataLoader(Patches(test_images, test_labels, test_transform), batch_size=50)

    model = ResNet(CLASSES)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        loss, acc = run_epoch(model, train_loader, criterion, optimizer)
        print("epoch {} train loss {:.3f} acc {:.3f}".format(epoch, loss, acc))
    loss, acc = run_epoch(model, test_loader, criterion)
    print("test loss {:.3f} acc {:.3f}".format(loss, acc))


if __name__ == "__main__":
    main()
