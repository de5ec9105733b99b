import argparse
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, TensorDataset, random_split


class LinearWarmup:
    """Multiplies the scheduled learning rate by min(1, step / warmup_period)."""

    def __init__(self, optimizer, warmup_period):
        self.optimizer = optimizer
        self.warmup_period = warmup_period
        self.last_step = 0
        self.lrs = [group["lr"] for group in optimizer.param_groups]
        self._dampen()

    def _dampen(self):
        self.last_step += 1
        omega = min(1.0, self.last_step / self.warmup_period)
        for group, lr in zip(self.optimizer.param_groups, self.lrs):
            group["lr"] = lr * omega

    @contextmanager
    def dampening(self):
        for group, lr in zip(self.optimizer.param_groups, self.lrs):
            group["lr"] = lr
        yield
        self.lrs = [group["lr"] for group in self.optimizer.param_groups]
        self._dampen()


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 4 * 4, hidden)
        self.fc2 = nn.Linear(hidden, 10)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            loss += F.cross_entropy(output, target, reduction="sum").item()
            correct += (output.argmax(dim=1) == target).sum().item()
    n = len(loader.dataset)
    return loss / n, correct / n


def main():
    parser = argparse.ArgumentParser(description="digits with warm-up and cosine decay")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--warmup-period", type=int, default=25)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--log-interval", type=int, default=10)
    args = parser.parse_args()

    torch.manual_seed(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    dataset = TensorDataset(images, torch.tensor(digits.target))
    train_set, test_set = random_split(dataset, [1500, len(dataset) - 1500])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)

    model = Net(args.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    num_steps = len(train_loader) * args.epochs
    lr_scheduler = CosineAnnealingLR(optimizer, T_max=num_steps)
    warmup_scheduler = LinearWarmup(optimizer, warmup_period=args.warmup_period)

    step = 0
    for epoch in range(1, args.epochs + 1):
        model.train()
        for data, target in train_loader:
            output = model(data)
            loss = F.cross_entropy(output, target)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
            if step % args.log_interval == 0:
                lr = optimizer.param_groups[0]["lr"]
                print(f"epoch {epoch} step {step:3d} lr {lr:.5f} loss {loss.item():.4f}")
            with warmup_scheduler.dampening():
                lr_scheduler.step()
            step += 1
        test_loss, acc = test(model, test_loader)
        print(f"test after epoch {epoch}: loss {test_loss:.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
