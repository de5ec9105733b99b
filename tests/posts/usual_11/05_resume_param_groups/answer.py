"""train.py -- two stage training with resume (condensed from the repo)"""
import os
import tempfile
from types import SimpleNamespace

import torch
import torch.nn as nn
import torchvision
from torch.utils.data import DataLoader, Dataset

cfg = SimpleNamespace(
    num_classes=5,
    head_lr=1e-3,
    backbone_lr=1e-4,
    weight_decay=1e-4,
    batch_size=16,
    workdir=tempfile.mkdtemp(),
)


class FlowerSet(Dataset):
    """Coloured blobs standing in for the flower photos."""

    def __init__(self, n):
        g = torch.Generator().manual_seed(3)
        self.y = torch.randint(0, cfg.num_classes, (n,), generator=g)
        self.x = torch.randn(n, 3, 64, 64, generator=g) + self.y.view(-1, 1, 1, 1) * 0.3

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build_model():
    net = torchvision.models.resnet18(weights=None)
    net.fc = nn.Linear(net.fc.in_features, cfg.num_classes)
    return net


def build_optimizer(net, differential_lr):
    if differential_lr:
        backbone = [p for n, p in net.named_parameters() if not n.startswith("fc.")]
        groups = [
            {"params": backbone, "lr": cfg.backbone_lr},
            {"params": net.fc.parameters(), "lr": cfg.head_lr},
        ]
    else:
        groups = net.parameters()
    return torch.optim.AdamW(groups, lr=cfg.head_lr, weight_decay=cfg.weight_decay)


def save_checkpoint(path, net, optimizer, epoch):
    torch.save({"epoch": epoch, "model": net.state_dict(), "optimizer": optimizer.state_dict()}, path)


def load_checkpoint(path, net, optimizer=None):
    ckpt = torch.load(path, map_location="cpu")
    net.load_state_dict(ckpt["model"])
    if optimizer is not None:
        optimizer.load_state_dict(ckpt["optimizer"])
    return ckpt["epoch"] + 1


def train(net, optimizer, loader, start, stop):
    loss_fn = nn.CrossEntropyLoss()
    path = os.path.join(cfg.workdir, "last.pth")
    for epoch in range(start, stop):
        net.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_fn(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch}: loss {total / len(loader.dataset):.4f}")
        save_checkpoint(path, net, optimizer, epoch)
    return path


def main():
    torch.manual_seed(11)
    loader = DataLoader(FlowerSet(64), batch_size=cfg.batch_size, shuffle=True)

    # first job
    net = build_model()
    optimizer = build_optimizer(net, differential_lr=True)
    path = train(net, optimizer, loader, 0, 1)

    # second job: pick up where the first one was preempted
    net = build_model()
    optimizer = build_optimizer(net, differential_lr=True)
    start = load_checkpoint(path, net, optimizer)
    train(net, optimizer, loader, start, 2)


if __name__ == "__main__":
    main()
