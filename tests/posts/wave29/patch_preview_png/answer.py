import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

IMG_H, IMG_W = 48, 64
OUT_DIR = tempfile.mkdtemp(prefix="previews_")


class FlagDataset(Dataset):
    """Small coloured flags: vertical (0) or horizontal (1) stripes."""

    def __init__(self, n, transform):
        self.rng = np.random.RandomState(3)
        self.transform = transform
        self.items = [self._draw(i % 2) for i in range(n)]

    def _draw(self, kind):
        canvas = np.zeros((IMG_H, IMG_W, 3), dtype=np.uint8)
        colours = self.rng.randint(0, 256, size=(3, 3))
        for k in range(3):
            if kind == 0:
                canvas[:, k * IMG_W // 3:(k + 1) * IMG_W // 3] = colours[k]
            else:
                canvas[k * IMG_H // 3:(k + 1) * IMG_H // 3] = colours[k]
        return Image.fromarray(canvas), kind

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        picture, kind = self.items[index]
        return self.transform(picture), kind


class FlagNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, stride=2, padding=2)
        self.conv2 = nn.Conv2d(8, 16, 5, stride=2, padding=2)
        self.fc = nn.Linear(16 * 12 * 16, 2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def to_picture(image):
    """Turns a (3, H, W) tensor in [0, 1] into something that PIL can show."""
    c, h, w = image.shape
    array = image.permute(1, 2, 0).numpy()
    return Image.fromarray((array * 255).round().astype(np.uint8))


def save_preview(images, labels, epoch):
    for i in range(4):
        name = "epoch%d_%d_class%d.png" % (epoch, i, labels[i].item())
        to_picture(images[i]).save(os.path.join(OUT_DIR, name))


if __name__ == "__main__":
    torch.manual_seed(0)
    transform = transforms.Compose([transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    loader = DataLoader(FlagDataset(96, transform), batch_size=16, shuffle=True)

    net = FlagNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    for epoch in range(3):
        total, hits = 0.0, 0
        for step, (images, labels) in enumerate(loader):
            if step == 0:
                save_preview(images, labels, epoch)
            optimizer.zero_grad()
            scores = net(images)
            loss = F.cross_entropy(scores, labels)
            loss.backward()
            optimizer.step()
            total += loss.item() * labels.size(0)
            hits += (scores.argmax(1) == labels).sum().item()
        print("epoch %d  loss %.4f  acc %.3f" % (epoch, total / 96, hits / 96))

    print("previews in", OUT_DIR, sorted(os.listdir(OUT_DIR))[:4])
