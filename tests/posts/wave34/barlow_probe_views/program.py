import numpy as np
import torch
import torch.nn as nn
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import DataLoader, Dataset

IMG = 24


class BarlowTransform:
    """Two views of an image; without training only resize-like steps."""

    def __init__(self, train=True, input_height=IMG, jitter_strength=1.0):
        s = jitter_strength
        normalize = [T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)]
        if train:
            steps = [
                T.RandomResizedCrop(input_height, scale=(0.2, 1.0)),
                T.RandomHorizontalFlip(),
                T.RandomApply([T.ColorJitter(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s)], p=0.8),
                T.RandomGrayscale(p=0.2),
            ]
        else:
            steps = [T.Resize(input_height + 4), T.CenterCrop(input_height)]
        self.view = T.Compose(steps + normalize)
        self.plain = T.Compose([T.Resize(input_height), T.CenterCrop(input_height)] + normalize)

    def __call__(self, img):
        return self.view(img), self.view(img), self.plain(img)


class Blobs(Dataset):
    def __init__(self, train, transform, n):
        rng = np.random.RandomState(0 if train else 1)
        self.labels = rng.randint(0, 6, n)
        self.images = []
        for y in self.labels:
            a = rng.randint(40, 90, (32, 32, 3))
            r, c = divmod(int(y), 3)
            a[6 + 12 * r:14 + 12 * r, 2 + 10 * c:10 + 10 * c, y % 3] = 230
            self.images.append(Image.fromarray(a.astype("uint8")))
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.labels[i])


class BarlowTwinsLoss(nn.Module):
    def __init__(self, lambda_coeff=5e-3):
        super().__init__()
        self.lambda_coeff = lambda_coeff

    def forward(self, z1, z2):
        z1 = (z1 - z1.mean(0)) / z1.std(0)
        z2 = (z2 - z2.mean(0)) / z2.std(0)
        c = z1.t() @ z2 / z1.size(0)
        diag = torch.diagonal(c)
        off = c.pow(2).sum() - diag.pow(2).sum()
        return (diag - 1).pow(2).sum() + self.lambda_coeff * off


def encoder():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten())


def main():
    torch.manual_seed(0)
    train_transform = BarlowTransform(train=True)
    train_dataset = Blobs(train=True, transform=train_transform, n=256)
    val_transform = BarlowTransform(train=False)
    val_dataset = Blobs(train=False, transform=train_transform, n=128)

    train_loader = DataLoader(train_dataset, batch_size=64, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_dataset, batch_size=64, shuffle=False)

    net = encoder()
    projector = nn.Sequential(nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64))
    criterion = BarlowTwinsLoss()
    optimizer = torch.optim.Adam(list(net.parameters()) + list(projector.parameters()), lr=2e-3)

    for epoch in range(3):
        net.train(), projector.train()
        for (x1, x2, _), _ in train_loader:
            loss = criterion(projector(net(x1)), projector(net(x2)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        net.eval(), projector.eval()
        val_loss = 0.0
        with torch.no_grad():
            for (x1, x2, _), _ in val_loader:
                val_loss += criterion(projector(net(x1)), projector(net(x2))).item()
        print(f"epoch {epoch}: train {loss.item():.3f} val {val_loss / len(val_loader):.3f}")


if __name__ == "__main__":
    main()
