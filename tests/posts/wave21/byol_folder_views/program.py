import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder


class MultiAugmentFolder(ImageFolder):
    """Returns two augmented views and the plain picture, with the label."""

    def __init__(self, root, augment, plain):
        super().__init__(root)
        self.augment = augment
        self.plain = plain

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = self.loader(path)
        return self.augment(image), self.augment(image), self.plain(image), label


def build_transforms(size):
    augment = transforms.Compose([
        transforms.RandomHorizontalFlip(),
        transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
        transforms.RandomGrayscale(p=0.2),
        transforms.ToTensor(),
    ])
    plain = transforms.ToTensor()
    return augment, plain


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, dim, 3, stride=2, padding=1), nn.BatchNorm2d(dim), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.projector = nn.Sequential(nn.Linear(dim, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return self.projector(self.conv(x))


@torch.no_grad()
def update_target(online, target, tau):
    for p, q in zip(online.parameters(), target.parameters()):
        q.mul_(tau).add_(p, alpha=1 - tau)


def regression_loss(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


def write_pictures(root, per_class=12):
    rng = np.random.RandomState(0)
    for label, colour in {"ants": (160, 60, 40), "bees": (200, 170, 30)}.items():
        os.makedirs(os.path.join(root, label))
        for i in range(per_class):
            h, w = rng.randint(40, 90, size=2)
            pixels = np.clip(rng.normal(colour, 30, size=(h, w, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(os.path.join(root, label, "%03d.png" % i))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", default=None)
    parser.add_argument("--image-size", type=int, default=48)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    if args.data_dir is None:
        args.data_dir = tempfile.mkdtemp()
        write_pictures(args.data_dir)

    augment, plain = build_transforms(args.image_size)
    dataset = MultiAugmentFolder(args.data_dir, augment, plain)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True,
                        num_workers=args.workers, drop_last=True)

    online, target = Encoder(), Encoder()
    target.load_state_dict(online.state_dict())
    predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
    probe = nn.Linear(32, len(dataset.classes))
    optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters(), *probe.parameters()], lr=1e-3)

    for epoch in range(args.epochs):
        total = 0.0
        for view1, view2, image, labels in loader:
            p1, p2 = predictor(online(view1)), predictor(online(view2))
            with torch.no_grad():
                z1, z2 = target(view1), target(view2)
                features = online.conv(image)
            loss = regression_loss(p1, z2) + regression_loss(p2, z1)
            loss = loss + F.cross_entropy(probe(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_target(online, target, 0.99)
            total += loss.item()
        print("epoch %d  loss %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    main()
