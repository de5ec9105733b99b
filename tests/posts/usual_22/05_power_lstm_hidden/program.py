import numpy as np
import torch
import torch.nn as nn


class LoadForecaster(nn.Module):
    def __init__(self, n_features=1, hidden=32, layers=1):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.lstm = nn.LSTM(n_features, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def init_hidden(self, batch_size):
        h = torch.zeros(self.layers, batch_size, self.hidden)
        c = torch.zeros(self.layers, batch_size, self.hidden)
        return h, c

    def forward(self, x, hidden):
        out, hidden = self.lstm(x, hidden)
        return self.head(out), hidden


def make_series(batch_size=8, length=401):
    t = np.arange(length)
    series = [np.sin(2 * np.pi * t / 24 + p) + 0.1 * np.random.randn(length)
              for p in np.random.rand(batch_size)]
    return torch.tensor(np.stack(series), dtype=torch.float32).unsqueeze(-1)


def train(model, data, seq_len=50, epochs=3, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.MSELoss()
    inputs, targets = data[:, :-1], data[:, 1:]

    for epoch in range(epochs):
        hidden = model.init_hidden(data.size(0))
        losses = []
        for start in range(0, inputs.size(1), seq_len):
            x = inputs[:, start:start + seq_len]
            y = targets[:, start:start + seq_len]

            optimizer.zero_grad()
            pred, hidden = model(x, hidden)
            loss = criterion(pred, y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: mse {np.mean(losses):.4f}")


if __name__ == "__main__":
    np.random.seed(1)
    torch.manual_seed(1)
    series = make_series()
    forecaster = LoadForecaster()
    train(forecaster, series)
