import argparse

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, TensorDataset


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--switch-epoch", type=int, default=4)
    p.add_argument("--adam-lr", type=float, default=1e-2)
    p.add_argument("--sgd-lr", type=float, default=5e-2)
    p.add_argument("--gamma", type=float, default=0.8)
    return p.parse_args()


class TabularNet(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.norm = nn.BatchNorm1d(d_in)
        self.fc1 = nn.Linear(d_in, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, d_out)
        self.act = nn.ELU()

    def forward(self, x):
        x = self.act(self.fc1(self.norm(x)))
        return self.fc3(self.act(self.fc2(x)))


def step_epoch(model, loader, criterion, optimizer, device):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    model.eval()
    losses = [criterion(model(x.to(device)), y.to(device)).item() for x, y in loader]
    return sum(losses) / len(losses)


def main():
    args = parse()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(1000, 15)
    y = torch.sin(x[:, :2]) + 0.1 * torch.randn(1000, 2)
    train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=40, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)

    model = TabularNet(15, 2).to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.adam_lr)
    scheduler = ExponentialLR(optimizer, gamma=args.gamma)

    for epoch in range(args.epochs):
        if epoch == args.switch_epoch:
            optimizer = torch.optim.SGD(model.parameters(), lr=args.sgd_lr, momentum=0.9)
        train_loss = step_epoch(model, train_loader, criterion, optimizer, device)
        test_loss = evaluate(model, test_loader, criterion, device)
        lr = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch:2d} lr {lr:.5f} train {train_loss:.4f} test {test_loss:.4f}")
        scheduler.step()


if __name__ == "__main__":
    main()
