import numpy as np
import torch
import torch.nn as nn

WINDOW = 24
BATCH = 16


def make_series(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    load = 50 + 10 * np.sin(2 * np.pi * t / 24) + 5 * np.sin(2 * np.pi * t / 168) + rng.normal(0, 1, n)
    return ((load - 50) / 10).astype(np.float32)


def sliding_windows(series, window):
    xs, ys = [], []
    for i in range(len(series) - window):
        xs.append(series[i:i + window])
        ys.append(series[i + window])
    return np.stack(xs), np.array(ys)


def parallel_batches(x, y, batch):
    """Split the series into `batch` parallel streams, so that row b of each batch continues row b of the last."""
    steps = len(x) // batch
    x = x[: steps * batch].reshape(batch, steps, WINDOW)
    y = y[: steps * batch].reshape(batch, steps)
    for s in range(0, steps, WINDOW):
        yield torch.from_numpy(x[:, s].copy()).unsqueeze(-1), torch.from_numpy(y[:, s].copy())


class LoadForecaster(nn.Module):
    def __init__(self, hidden_size=32, num_layers=1):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.gru = nn.GRU(1, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, 1)

    def init_hidden(self, batch_size):
        return torch.zeros(self.num_layers, batch_size, self.hidden_size)

    def forward(self, x, hidden):
        out, hidden = self.gru(x, hidden)
        return self.fc(out[:, -1]).squeeze(-1), hidden


def main():
    torch.manual_seed(0)
    series = make_series()
    x, y = sliding_windows(series[:5000], WINDOW)
    x_test, y_test = sliding_windows(series[5000:], WINDOW)

    model = LoadForecaster()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    for epoch in range(15):
        model.train()
        hidden = model.init_hidden(BATCH)
        losses = []
        for xb, yb in parallel_batches(x, y, BATCH):
            optimizer.zero_grad()
            pred, hidden = model(xb, hidden.detach())
            loss = criterion(pred, yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: train mse {np.mean(losses):.4f}")

    model.eval()
    errors = []
    with torch.no_grad():
        hidden = model.init_hidden(BATCH)
        for xb, yb in parallel_batches(x_test, y_test, BATCH):
            pred, hidden = model(xb, hidden)
            errors.append(criterion(pred, yb).item())
    print(f"test mse {np.mean(errors):.4f}")


if __name__ == "__main__":
    main()
