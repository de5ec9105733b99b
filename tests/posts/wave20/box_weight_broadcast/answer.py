import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class HousePrices(Dataset):
    def __init__(self, n=800, seed=3):
        g = torch.Generator().manual_seed(seed)
        self.features = torch.randn(n, 8, generator=g)
        coef = torch.tensor([1.2, -0.7, 0.3, 0.0, 2.0, -1.1, 0.4, 0.9])
        self.price = self.features @ coef + 0.2 * torch.randn(n, generator=g)
        self.weight = torch.rand(n, generator=g) + 0.5

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return self.features[i], self.price[i], self.weight[i]


class Regressor(nn.Module):
    def __init__(self, n_in, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x)


def weighted_squared_error(pred, target, weight):
    sq = (pred - target) ** 2
    return (weight * sq).mean()


def r2(model, data):
    model.eval()
    with torch.no_grad():
        out = model(data.features).flatten()
    resid = ((data.price - out) ** 2).sum()
    total = ((data.price - data.price.mean()) ** 2).sum()
    return (1 - resid / total).item()


def main():
    torch.manual_seed(0)
    train, valid = HousePrices(800, seed=3), HousePrices(200, seed=4)
    loader = DataLoader(train, batch_size=50, shuffle=True)
    model = Regressor(8)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(20):
        model.train()
        total = 0.0
        for x, y, w in loader:
            pred = model(x).squeeze(1)
            loss = weighted_squared_error(pred, y, w)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:2d}  loss {total / len(loader):.4f}  R2 {r2(model, valid):.3f}")


if __name__ == "__main__":
    main()
