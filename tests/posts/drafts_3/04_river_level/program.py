import torch
import torch.nn as nn


class RiverLSTM(nn.Module):
    """Stateful LSTM over consecutive windows of hourly river levels."""

    def __init__(self, n_inputs=3, hidden=32):
        super(RiverLSTM, self).__init__()
        self.lstm = nn.LSTM(n_inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.state = None

    def reset_state(self):
        self.state = None

    def forward(self, x):
        y, state = self.lstm(x, self.state)
        self.state = state
        return self.out(y).squeeze(-1)


def make_stations(n_stations, length):
    t = torch.arange(length).float()
    phase = torch.rand(n_stations, 1) * 6.28
    rain = torch.relu(torch.randn(n_stations, length))
    level = torch.sin(t / 24 + phase) + 0.1 * rain.cumsum(1) / (t + 1)
    upstream = torch.sin((t + 6) / 24 + phase) + 0.05 * torch.randn(n_stations, length)
    return torch.stack([level, rain, upstream], dim=-1)


def windows(series, size):
    n_windows = (series.size(1) - 1) // size
    for i in range(n_windows):
        x = series[:, i * size:(i + 1) * size]
        y = series[:, i * size + 1:(i + 1) * size + 1, 0]
        yield x, y


def train_epoch(model, series, optimizer, loss_fn, size):
    model.train()
    model.reset_state()
    total, steps = 0.0, 0
    for x, y in windows(series, size):
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        steps += 1
    return total / steps


@torch.no_grad()
def validate(model, series, loss_fn, size):
    model.eval()
    total, steps = 0.0, 0
    for x, y in windows(series, size):
        total += loss_fn(model(x), y).item()
        steps += 1
    return total / steps


if __name__ == "__main__":
    torch.manual_seed(3)
    train_series = make_stations(8, 481)
    val_series = make_stations(4, 241)
    model = RiverLSTM()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(5):
        tr = train_epoch(model, train_series, optimizer, loss_fn, size=48)
        va = validate(model, val_series, loss_fn, size=48)
        print("epoch {}  train {:.4f}  val {:.4f}".format(epoch, tr, va))
