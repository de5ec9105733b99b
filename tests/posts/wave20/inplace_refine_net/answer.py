import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class StationReadings(Dataset):
    """Readings of a few neighbouring stations and the load that follows from them."""

    def __init__(self, n_samples=200, n_stations=8):
        gen = torch.Generator().manual_seed(5)
        mix = torch.randn(n_stations, n_stations, generator=gen) / n_stations ** 0.5
        self.x = torch.randn(n_samples, n_stations, generator=gen)
        self.y = (self.x @ mix.t()).relu().sum(dim=1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]


class RefineNet(nn.Module):
    """Mixes the stations, then refines one station after the other and sums what each pass gives."""

    def __init__(self, n_stations, hidden=16):
        super().__init__()
        self.mixing = nn.Parameter(torch.randn(n_stations, n_stations) / n_stations ** 0.5)
        self.step = nn.Parameter(torch.zeros(n_stations))
        self.readout = nn.Sequential(nn.Linear(n_stations, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        state = torch.mm(self.mixing, x.t())
        total = torch.zeros_like(state)
        for i in range(state.size(0)):
            state = state.clone()
            state[i] = state[i] + self.step[i]
            total = total + torch.mm(self.mixing, state)
        return self.readout(total.t() / state.size(0))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total = sum(criterion(model(x), y).item() * len(x) for x, y in loader)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    n_stations = 8
    data = StationReadings(n_stations=n_stations)
    train_set, test_set = torch.utils.data.random_split(data, [160, 40])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=40)

    model = RefineNet(n_stations)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(10):
        train_loss = train_epoch(model, train_loader, criterion, optimizer)
        if epoch % 3 == 0:
            print(f"[{epoch:02d}] train {train_loss:.4f} test {evaluate(model, test_loader, criterion):.4f}")


if __name__ == "__main__":
    main()
