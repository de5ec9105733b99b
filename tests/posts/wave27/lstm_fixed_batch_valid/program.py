import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SensorLSTM(nn.Module):
    def __init__(self, n_features, hidden_size, n_layers, n_out, bs):
        super().__init__()
        self.bs = bs
        self.n_layers = n_layers
        self.hidden_size = hidden_size
        self.rnn = nn.LSTM(n_features, hidden_size, n_layers, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(hidden_size), nn.Linear(hidden_size, n_out))

    def init_state(self, x):
        h0 = torch.zeros(self.n_layers, self.bs, self.hidden_size, device=x.device)
        c0 = torch.zeros(self.n_layers, self.bs, self.hidden_size, device=x.device)
        return h0, c0

    def forward(self, x):
        out, _ = self.rnn(x, self.init_state(x))
        return self.head(out[:, -1])


def make_windows(n_windows, length=30, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(length + 1)
    freq = rng.uniform(0.1, 0.5, (n_windows, 1))
    phase = rng.uniform(0, 2 * np.pi, (n_windows, 1))
    series = np.sin(freq * t + phase) + 0.05 * rng.standard_normal((n_windows, length + 1))
    past = series[:, :-1]
    x = np.stack([past, np.gradient(past, axis=1)], axis=-1)
    y = series[:, -1:]
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class Learner:
    def __init__(self, model, train_dl, valid_dl, lr=1e-2):
        self.model = model
        self.train_dl = train_dl
        self.valid_dl = valid_dl
        self.loss_func = nn.MSELoss()
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def one_batch(self, xb, yb):
        return self.loss_func(self.model(xb), yb)

    def fit(self, n_epochs):
        for epoch in range(n_epochs):
            self.model.train()
            train_losses = []
            for xb, yb in self.train_dl:
                loss = self.one_batch(xb, yb)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                train_losses.append(loss.item())
            valid_loss = self.validate()
            print(f"{epoch}  train {np.mean(train_losses):.5f}  valid {valid_loss:.5f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total, count = 0.0, 0
        for xb, yb in self.valid_dl:
            total += self.one_batch(xb, yb).item() * len(xb)
            count += len(xb)
        return total / count


if __name__ == "__main__":
    torch.manual_seed(0)
    bs = 64
    train_ds = TensorDataset(*make_windows(1000, seed=0))
    valid_ds = TensorDataset(*make_windows(200, seed=1))
    train_dl = DataLoader(train_ds, batch_size=bs, shuffle=True, drop_last=True)
    valid_dl = DataLoader(valid_ds, batch_size=bs)
    model = SensorLSTM(n_features=2, hidden_size=32, n_layers=2, n_out=1, bs=bs)
    Learner(model, train_dl, valid_dl).fit(5)
