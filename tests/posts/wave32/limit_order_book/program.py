import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

WINDOW = 15
LEVELS = 40


class AdaptiveNorm(nn.Module):
    def __init__(self, dim):
        super(AdaptiveNorm, self).__init__()
        self.shift = nn.Linear(dim, dim, bias=False)
        self.scale = nn.Linear(dim, dim, bias=False)
        self.shift.weight.data = torch.eye(dim)
        self.scale.weight.data = torch.eye(dim)

    def forward(self, x):
        # x: batch x features x time
        x = x - self.shift(x.mean(2)).unsqueeze(2)
        std = torch.sqrt((x ** 2).mean(2) + 1e-8)
        return x / (self.scale(std).unsqueeze(2).abs() + 1e-3)


class BookMLP(nn.Module):
    def __init__(self):
        super(BookMLP, self).__init__()
        self.norm = AdaptiveNorm(LEVELS)
        self.fc1 = nn.Linear(LEVELS * WINDOW, 128)
        self.fc2 = nn.Linear(128, 3)

    def forward(self, x):
        x = self.norm(x.transpose(1, 2)).contiguous().view(x.size(0), -1)
        return self.fc2(F.dropout(F.relu(self.fc1(x)), 0.5, self.training))


def get_loader(n, seed, batch_size, shuffle):
    rng = np.random.RandomState(seed)
    labels = rng.choice(3, n, p=[0.2, 0.6, 0.2])
    drift = (labels - 1)[:, None, None] * np.linspace(0, 0.6, WINDOW)[None, :, None]
    books = 100 + np.cumsum(rng.randn(n, WINDOW, LEVELS) * 0.1, axis=1) + drift
    data = TensorDataset(torch.from_numpy(books).float(), torch.from_numpy(labels).long())
    return DataLoader(data, batch_size=batch_size, shuffle=shuffle)


def epoch_trainer(model, loader, optimizer):
    model.train()
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.5, 0.6, 1.5]))
    train_loss, counter = 0, 0
    for books, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(books), labels)
        loss.backward()
        optimizer.step()
        train_loss += loss.detach()
        counter += 1
    loss = (loss / counter).cpu().data.numpy()
    return loss


def evaluate(model, loader):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for books, labels in loader:
            pred = model(books).argmax(1)
            correct += (pred == labels).sum().item()
            total += labels.size(0)
    return correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(1)
    train_loader = get_loader(1280, 0, args.batch_size, True)
    test_loader = get_loader(320, 1, args.batch_size, False)
    model = BookMLP()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        loss = epoch_trainer(model, train_loader, optimizer)
        print("Epoch %d, train loss: %.5f, test acc: %.4f" % (epoch, loss, evaluate(model, test_loader)))


if __name__ == "__main__":
    main()
