import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ArrayImages(Dataset):
    def __init__(self, arrays, labels, train=True):
        self.arrays = arrays
        self.labels = labels
        self.train = train

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, idx):
        img = self.arrays[idx]
        if self.train and torch.rand(1).item() < 0.5:
            img = img[:, ::-1].copy()
        h, w, c = img.shape
        img = torch.from_numpy(img).float() / 255.0
        img = img.permute(2, 0, 1)
        img = (img - 0.5) / 0.25
        return img, int(self.labels[idx])


def conv_bn(cin, cout, stride):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU()
    )


class Net(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 16, 2), conv_bn(16, 32, 2), conv_bn(32, 32, 2))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.cls = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.cls(self.pool(self.stem(x)).flatten(1))


def synth(n, rng):
    labels = rng.integers(0, 3, n)
    arrays = rng.integers(0, 200, (n, 40, 32, 3), dtype=np.uint8)
    for a, lab in zip(arrays, labels):
        a[:, :, lab] = np.minimum(a[:, :, lab] + 40, 255)
    return arrays, labels


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(ArrayImages(*synth(240, rng)), batch_size=24, shuffle=True)
    test_loader = DataLoader(ArrayImages(*synth(72, rng), train=False), batch_size=24)
    net = Net().to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        net.train()
        for img, lab in train_loader:
            loss = nn.functional.cross_entropy(net(img.to(device)), lab.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            good = 0
            for img, lab in test_loader:
                good += (net(img.to(device)).argmax(1).cpu() == lab).sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {good / 72:.3f}")


if __name__ == "__main__":
    main()
