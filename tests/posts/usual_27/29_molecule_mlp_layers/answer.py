import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def fingerprints(n, bits=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    prints = (torch.rand(n, bits, generator=g) < 0.2).float()
    weight = torch.sin(torch.arange(bits).float())
    pairs = prints[:, :-1] * prints[:, 1:]
    solubility = prints @ weight + 0.5 * pairs.sum(1) - 1.0
    return TensorDataset(prints, solubility + 0.1 * torch.randn(n, generator=g))


class SolubilityNet(nn.Module):
    def __init__(self, bits, hidden, p=0.1):
        super().__init__()
        self.sizes = [bits] + list(hidden) + [1]
        self.p = p
        self.layers = nn.ModuleList(self._stack())

    def _stack(self):
        layers = []
        for n_in, n_out in zip(self.sizes[:-1], self.sizes[1:]):
            layer = nn.Linear(n_in, n_out)
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
            layers.append(layer)
        return layers

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x)), self.p, self.training)
        return self.layers[-1](x).squeeze(1)


def make_optimizer(model, name, lr, weight_decay):
    kinds = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    return kinds[name](model.parameters(), lr=lr, weight_decay=weight_decay)


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def r2(model, loader):
    model.eval()
    predicted = torch.cat([model(x) for x, _ in loader])
    truth = torch.cat([y for _, y in loader])
    return 1 - ((predicted - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, nargs="+", default=[64, 32])
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args(argv)

    torch.manual_seed(0)
    train_loader = DataLoader(fingerprints(800), batch_size=40, shuffle=True)
    test_loader = DataLoader(fingerprints(200, seed=1), batch_size=100)
    model = SolubilityNet(64, args.hidden)
    with torch.no_grad():
        print("before training:", model(next(iter(test_loader))[0])[:3])
    optimizer = make_optimizer(model, args.optimizer, args.lr, weight_decay=1e-5)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train_loader, optimizer)
    print(f"loss {loss:.3f}, R2 on the test set {r2(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
