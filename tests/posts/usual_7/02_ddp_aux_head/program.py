import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def parse_args():
    p = argparse.ArgumentParser("traffic sign training")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--aux-weight", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


class SignDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 8, (n,), generator=g)
        self.images = torch.rand(n, 3, 32, 32, generator=g)
        for i, c in enumerate(self.labels.tolist()):
            self.images[i, c % 3, 4 * c:4 * c + 4] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2))


class SignNet(nn.Module):
    def __init__(self, num_classes=8, use_aux=True):
        super().__init__()
        self.use_aux = use_aux
        self.stage1 = block(3, 16)
        self.stage2 = block(16, 32)
        self.stage3 = block(32, 64)
        self.aux = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * 16, num_classes))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(64 * 16, num_classes))

    def forward(self, x):
        x = self.stage2(self.stage1(x))
        aux = self.aux(x) if self.training and self.use_aux else None
        return self.head(self.stage3(x)), aux


def main():
    args = parse_args()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29537")
    rank = int(os.environ.get("RANK", 0))
    world = int(os.environ.get("WORLD_SIZE", 1))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(args.seed)

    train_set = SignDataset(512, seed=1)
    sampler = DistributedSampler(train_set, num_replicas=world, rank=rank, shuffle=True)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler)

    model = DDP(SignNet(use_aux=args.aux_weight > 0))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            out, aux = model(images)
            loss = criterion(out, labels)
            if aux is not None:
                loss = loss + args.aux_weight * criterion(aux, labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch} loss {total / len(loader):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
