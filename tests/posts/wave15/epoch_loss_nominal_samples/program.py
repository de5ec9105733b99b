import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CFG = dict(batch_size=8, pseudo_batch_loop=4, epochs=4, lr=0.05)


def clips(n, frames=8, size=8):
    """tiny clips of a dot that moves in one of four directions"""
    gen = torch.Generator().manual_seed(12)
    y = torch.randint(0, 4, (n,), generator=gen)
    steps = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])
    x = 0.1 * torch.randn(n, 1, frames, size, size, generator=gen)
    for i in range(n):
        pos = torch.randint(0, size, (2,), generator=gen)
        for t in range(frames):
            r, c = ((pos + t * steps[y[i]]) % size).tolist()
            x[i, 0, t, r, c] += 2.0
    return TensorDataset(x, y)


class C3DLite(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv3d(1, 16, 3, padding=1, padding_mode="circular")
        self.conv2 = nn.Conv3d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(F.max_pool3d(x, (1, 2, 2))))
        return self.fc(x.amax(dim=(2, 3, 4)))


class Writer:
    """keeps what would go to tensorboard"""

    def __init__(self):
        self.rows = []

    def add_scalar(self, name, value, step):
        self.rows.append((name, step, value))
        print(f"{name} {step:4d} {value:.4f}")


def train_epoch(model, loader, optimizer, writer, epoch):
    running_loss, running_batch = 0.0, 0
    steps_per_epoch = -(-len(loader) // CFG["pseudo_batch_loop"])
    model.train()
    optimizer.zero_grad()
    for step, (clip, label) in enumerate(loader):
        loss = F.cross_entropy(model(clip), label, reduction="sum")
        (loss / (CFG["batch_size"] * CFG["pseudo_batch_loop"])).backward()
        running_loss += loss.item()
        running_batch += CFG["batch_size"]

        last = step == len(loader) - 1
        if (step + 1) % CFG["pseudo_batch_loop"] == 0 or last:
            optimizer.step()
            optimizer.zero_grad()
            update = epoch * steps_per_epoch + step // CFG["pseudo_batch_loop"]
            writer.add_scalar("train/loss", running_loss / running_batch, update)
            running_loss, running_batch = 0.0, 0


def main():
    torch.manual_seed(0)
    loader = DataLoader(clips(99), batch_size=CFG["batch_size"], shuffle=True)
    model = C3DLite(n_classes=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=CFG["lr"], momentum=0.9)
    writer = Writer()
    for epoch in range(CFG["epochs"]):
        train_epoch(model, loader, optimizer, writer, epoch)


if __name__ == "__main__":
    main()
