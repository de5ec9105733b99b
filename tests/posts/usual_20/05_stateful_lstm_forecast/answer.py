import numpy as np
import torch
import torch.nn as nn


def sine_series(n=1200):
    t = np.arange(n)
    s = np.sin(0.05 * t) + 0.3 * np.sin(0.17 * t) + 0.05 * np.random.randn(n)
    return torch.tensor(s, dtype=torch.float32)


class Forecaster(nn.Module):
    def __init__(self, hidden_size=32):
        super().__init__()
        self.hidden_size = hidden_size
        self.lstm = nn.LSTM(1, hidden_size, batch_first=True)
        self.head = nn.Linear(hidden_size, 1)

    def init_hidden(self, batch_size):
        h = torch.zeros(1, batch_size, self.hidden_size)
        c = torch.zeros(1, batch_size, self.hidden_size)
        return h, c

    def forward(self, x, hidden):
        out, hidden = self.lstm(x, hidden)
        return self.head(out), hidden


class Trainer:
    def __init__(self, model, series, seq_len=30, lr=5e-3):
        self.model = model
        self.series = series
        self.seq_len = seq_len
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def chunks(self):
        for start in range(0, len(self.series) - self.seq_len - 1, self.seq_len):
            x = self.series[start:start + self.seq_len]
            y = self.series[start + 1:start + self.seq_len + 1]
            yield x.view(1, -1, 1), y.view(1, -1, 1)

    def train_epoch(self):
        self.model.train()
        hidden = self.model.init_hidden(1)
        losses = []
        for x, y in self.chunks():
            self.optimizer.zero_grad()
            hidden = tuple(h.detach() for h in hidden)
            pred, hidden = self.model(x, hidden)
            loss = self.criterion(pred, y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def fit(self, epochs=5):
        for epoch in range(epochs):
            print(f"epoch {epoch}: {self.train_epoch():.4f}")


if __name__ == "__main__":
    np.random.seed(1)
    torch.manual_seed(1)
    Trainer(Forecaster(), sine_series()).fit()
