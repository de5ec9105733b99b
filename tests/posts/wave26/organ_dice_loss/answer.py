import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BinaryDiceLoss(nn.Module):
    """Soft Dice loss for one map, averaged over the batch."""

    def __init__(self, smooth=1.0, p=1):
        super().__init__()
        self.smooth = smooth
        self.p = p

    def forward(self, output, target):
        assert output.shape[0] == target.shape[0]
        output = output.contiguous().view(output.shape[0], -1)
        target = target.contiguous().view(target.shape[0], -1).float()
        inter = (output * target).sum(dim=1)
        denom = output.pow(self.p).sum(dim=1) + target.pow(self.p).sum(dim=1)
        return (1 - (2 * inter + self.smooth) / (denom + self.smooth)).mean()


class DiceLoss(nn.Module):
    """Dice loss over all classes of a one-hot target."""

    def __init__(self, weight=None, ignore_index=None):
        super().__init__()
        self.weight = weight
        self.ignore_index = ignore_index

    def forward(self, output, target):
        assert output.shape == target.shape
        dice = BinaryDiceLoss()
        output = F.softmax(output, dim=1)
        total = 0.0
        for i in range(target.shape[1]):
            if i == self.ignore_index:
                continue
            loss = dice(output[:, i], target[:, i])
            if self.weight is not None:
                loss = loss * self.weight[i]
            total = total + loss
        return total / target.shape[1]


class SmallSegNet(nn.Module):
    def __init__(self, n_classes, width=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.BatchNorm2d(width), nn.ReLU(),
        )
        self.classifier = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        return self.classifier(self.features(x))


def make_slices(n, size=40, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.zeros((n, size, size), dtype=np.int64)
    for k in range(n):
        for organ in range(1, n_classes):
            y, x = rng.integers(0, size - 14, 2)
            labels[k, y:y + 14, x:x + 14] = organ
    images = labels[:, None] * 0.5 + rng.normal(0, 0.1, (n, 1, size, size))
    return torch.from_numpy(images).float(), torch.from_numpy(labels)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    n_classes = 4
    images, labels = make_slices(32, n_classes=n_classes)
    loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)
    net = SmallSegNet(n_classes).to(device)
    criterion = DiceLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(10):
        net.train()
        losses, hits, count = [], 0, 0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            logits = net(x)
            onehot = F.one_hot(y, n_classes).permute(0, 3, 1, 2)
            loss = criterion(logits, onehot)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            hits += (logits.argmax(dim=1) == y).sum().item()
            count += y.numel()
        print("epoch %2d  dice loss %.4f  pixel acc %.4f" % (epoch + 1, np.mean(losses), hits / count))


if __name__ == "__main__":
    main()
