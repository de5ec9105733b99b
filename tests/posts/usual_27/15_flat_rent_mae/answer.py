import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DISTRICTS = ["centre", "harbour", "hill", "west", "old town"]


class FlatRents(Dataset):
    """Area, rooms, year and district of a flat; the rent in hundreds of euros."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        area = rng.uniform(20, 140, n)
        rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.5, n)), 1, None)
        year = rng.integers(1900, 2024, n)
        district = rng.integers(0, len(DISTRICTS), n)
        factor = np.array([1.5, 1.2, 1.1, 0.8, 1.3])[district]
        rent = area * 0.11 * factor + (year - 1960) * 0.01 + rng.normal(0, 0.3, n)
        numbers = np.stack([(area - 80) / 35, (rooms - 3) / 1.5, (year - 1960) / 36], axis=1)
        self.numbers = torch.tensor(numbers, dtype=torch.float32)
        self.district = torch.tensor(district)
        self.rent = torch.tensor(rent, dtype=torch.float32)

    def __len__(self):
        return len(self.rent)

    def __getitem__(self, i):
        return self.numbers[i], self.district[i], self.rent[i]


class RentModel(nn.Module):
    def __init__(self, n_numbers=3, n_districts=len(DISTRICTS), emb=4, hidden=48):
        super().__init__()
        self.district = nn.Embedding(n_districts, emb)
        self.body = nn.Sequential(
            nn.Linear(n_numbers + emb, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
        )
        self.out = nn.Linear(hidden, 1)

    def forward(self, numbers, district):
        x = torch.cat([numbers, self.district(district)], dim=1)
        return self.out(self.body(x))


def fit(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for numbers, district, rent in loader:
        optimizer.zero_grad()
        prediction = model(numbers, district)
        loss = criterion(prediction, rent.unsqueeze(1))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rent)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    errors = []
    for numbers, district, rent in loader:
        prediction = model(numbers, district)
        errors.append((prediction - rent.unsqueeze(1)).abs().mean().item())
    return 100 * sum(errors) / len(errors)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(FlatRents(800, seed=0), batch_size=40, shuffle=True)
    valid_loader = DataLoader(FlatRents(200, seed=1), batch_size=40)
    model = RentModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.MSELoss()
    best = float("inf")
    for epoch in range(args.epochs):
        train_loss = fit(model, train_loader, optimizer, criterion)
        mae = evaluate(model, valid_loader)
        best = min(best, mae)
        print(f"{epoch:2d} train mse {train_loss:.3f}  valid mean error {mae:.0f} EUR")
    print(f"best mean error {best:.0f} EUR")


if __name__ == "__main__":
    main()
