import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, in_dim, code_dim):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, 64)
        self.fc2 = nn.Linear(64, code_dim)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Decoder(nn.Module):
    def __init__(self, code_dim, out_dim):
        super().__init__()
        self.fc1 = nn.Linear(code_dim, 64)
        self.fc2 = nn.Linear(64, out_dim)

    def forward(self, z):
        return self.fc2(torch.relu(self.fc1(z)))


class AnomalyAutoencoder(nn.Module):
    """Trained on normal windows only; a high reconstruction error means anomaly."""

    def __init__(self, in_dim, code_dim=8):
        super().__init__()
        self.in_dim = in_dim
        self.code_dim = code_dim
        self.encoder = Encoder(in_dim, code_dim)
        self.decoder = Decoder(code_dim, in_dim)
        self.threshold = None

    def forward(self, x):
        return self.decoder(self.encoder(x))

    @torch.no_grad()
    def score(self, x):
        self.eval()
        return ((self(x) - x) ** 2).mean(dim=1)

    def set_threshold(self, x, q=0.99):
        self.threshold = torch.quantile(self.score(x), q).item()


def windows(n, anomalous, seed):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 4 * np.pi, 64)
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    w = np.sin(t + phase) + 0.3 * np.sin(3 * t + 3 * phase) + 0.05 * rng.standard_normal((n, 64))
    if anomalous:
        w += 0.6 * np.sin(11 * t + rng.uniform(0, 2 * np.pi, (n, 1)))
    return torch.tensor(w, dtype=torch.float32)


def fit(model, data, epochs=15, lr=2e-3):
    loader = DataLoader(TensorDataset(data), batch_size=64, shuffle=True)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=lr)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for (x,) in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), x)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d}: mse {total / len(data):.5f}")


def main():
    torch.manual_seed(0)
    train_x = windows(1000, False, seed=0)
    valid_x = windows(300, False, seed=1)
    normal_x, broken_x = windows(200, False, seed=2), windows(200, True, seed=3)

    model = AnomalyAutoencoder(in_dim=train_x.shape[1])
    fit(model, train_x)
    model.set_threshold(valid_x)
    print(f"threshold {model.threshold:.5f}")
    print(f"false alarms  {(model.score(normal_x) > model.threshold).float().mean():.3f}")
    print(f"detected      {(model.score(broken_x) > model.threshold).float().mean():.3f}")


if __name__ == "__main__":
    main()
