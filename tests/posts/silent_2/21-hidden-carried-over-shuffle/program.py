import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class MachineRuns(Dataset):
    def __init__(self, runs, steps=20):
        rate = torch.rand(runs, 1, 1)
        t = torch.arange(steps).view(1, steps, 1) / steps
        self.signal = rate * t + 0.05 * torch.randn(runs, steps, 1)
        self.remaining = 1.0 - rate.view(runs, 1)

    def __len__(self):
        return self.signal.size(0)

    def __getitem__(self, k):
        return self.signal[k], self.remaining[k]


class WearLSTM(nn.Module):
    def __init__(self, n_features=1, hidden_size=32, num_layers=1):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden_size, num_layers, batch_first=True)
        self.head = nn.Linear(hidden_size, 1)

    def forward(self, x, hidden=None):
        out, hidden = self.lstm(x, hidden)
        return self.head(out[:, -1]), hidden


def detach(hidden):
    return tuple(h.detach() for h in hidden)


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    hidden, total = None, 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        pred, hidden = model(x, hidden)
        hidden = detach(hidden)
        loss = criterion(pred, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(model, loader, criterion, device):
    model.eval()
    hidden, total = None, 0.0
    with torch.no_grad():
        for x, y in loader:
            pred, hidden = model(x.to(device), hidden)
            total += criterion(pred, y.to(device)).item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(MachineRuns(320), batch_size=32, shuffle=True, drop_last=True)
    val_loader = DataLoader(MachineRuns(64), batch_size=32)
    model = WearLSTM().to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(8):
        tl = train_one_epoch(model, train_loader, criterion, optimizer, device)
        vl = validate(model, val_loader, criterion, device)
        print(f"epoch {epoch:2d} train {tl:.5f} val {vl:.5f}")


if __name__ == "__main__":
    main()
