import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SensorData(Dataset):
    def __init__(self, rows, targets, mean=None, std=None):
        if mean is None:
            mean, std = rows.mean(dim=0), rows.std(dim=0)
        self.mean, self.std = mean, std
        self.rows = (rows - mean) / (std + 1e-8)
        self.targets = targets

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.targets[i]


def make_model(n_in):
    return nn.Sequential(
        nn.Linear(n_in, 64),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    )


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    drift = torch.linspace(0, 3, 1000).unsqueeze(1)
    rows = torch.randn(1000, 12) * torch.linspace(1, 20, 12) + 5 + drift
    targets = rows[:, :3].sum(dim=1, keepdim=True) + 0.1 * torch.randn(1000, 1)

    train_set = SensorData(rows[:800], targets[:800])
    test_set = SensorData(rows[800:], targets[800:])
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=50)

    model = make_model(rows.size(1)).to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(15):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        abs_err = 0.0
        with torch.no_grad():
            for x, y in test_loader:
                abs_err += (model(x.to(device)) - y.to(device)).abs().sum().item()
        print(f"{epoch + 1} train mse {loss.item():.3f} test mae {abs_err / len(test_set):.3f}")


if __name__ == "__main__":
    main()
