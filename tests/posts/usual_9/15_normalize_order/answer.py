import argparse, os, pickle
import numpy as np
from PIL import Image
import torch, torch.nn as nn
import torchvision.transforms as T
from torch.utils.data import DataLoader, Dataset

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def get_args():
    p = argparse.ArgumentParser("small CIFAR experiments")
    p.add_argument("--root", default="cifar-like")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--bs", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--no-aug", action="store_true")
    return p.parse_args()


def prepare(root):
    """Writes batches in the layout of cifar-10-batches-py (dict with b'data', b'labels')."""
    os.makedirs(root, exist_ok=True)
    rng = np.random.default_rng(0)
    tint = rng.integers(40, 200, (10, 3))
    for name, n in (("data_batch_1", 320), ("test_batch", 128)):
        labels = rng.integers(0, 10, n)
        data = (tint[labels][:, :, None] + rng.normal(0, 25, (n, 3, 1024))).clip(0, 255).astype(np.uint8)
        with open(os.path.join(root, name), "wb") as f:
            pickle.dump({b"data": data.reshape(n, 3072), b"labels": labels.tolist()}, f)


class CIFAR(Dataset):
    def __init__(self, root, name, transform):
        with open(os.path.join(root, name), "rb") as f:
            d = pickle.load(f)
        self.data = d[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.labels = d[b"labels"]
        self.transform = transform

    def __getitem__(self, i):
        return self.transform(Image.fromarray(self.data[i])), self.labels[i]

    def __len__(self):
        return len(self.labels)


def get_transforms(aug=True):
    train = [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()] if aug else []
    train += [T.ToTensor(), T.Normalize(MEAN, STD)]
    test = [T.ToTensor(), T.Normalize(MEAN, STD)]
    return T.Compose(train), T.Compose(test)


def conv_bn(cin, cout, stride):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True))


def build():
    return nn.Sequential(conv_bn(3, 16, 1), conv_bn(16, 32, 2), conv_bn(32, 64, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def main():
    args = get_args()
    torch.manual_seed(0)
    prepare(args.root)
    train_tf, test_tf = get_transforms(not args.no_aug)
    train_loader = DataLoader(CIFAR(args.root, "data_batch_1", train_tf), args.bs, shuffle=True)
    test_loader = DataLoader(CIFAR(args.root, "test_batch", test_tf), args.bs)
    net = build()
    opt = torch.optim.SGD(net.parameters(), args.lr, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for ep in range(args.epochs):
        net.train()
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        net.eval()
        ok = 0
        with torch.no_grad():
            for x, y in test_loader:
                ok += (net(x).argmax(1) == y).sum().item()
        print("epoch %d  acc %.2f%%" % (ep, 100 * ok / len(test_loader.dataset)))


if __name__ == "__main__":
    main()
