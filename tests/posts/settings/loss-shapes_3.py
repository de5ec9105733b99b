# line 43: the forecast of one station is (1, steps, variables) and the truth is (steps, variables)
import numpy as np
import torch
from torch import nn

STEPS, VARS = 12, 3


class Seq2Seq(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.encoder = nn.LSTM(VARS, width, batch_first=True)
        self.cell = nn.LSTMCell(VARS, width)
        self.read = nn.Linear(width, VARS)

    def forward(self, past):
        _, (h, c) = self.encoder(past)
        h, c, x = h[0], c[0], past[:, -1]
        steps = []
        for _ in range(STEPS):
            h, c = self.cell(x, (h, c))
            x = x + self.read(h)
            steps.append(x)
        return torch.stack(steps, dim=1)


def station_data(seed):
    r = np.random.default_rng(seed)
    t = np.arange(200)[:, None] / np.array([[7.0, 11.0, 24.0]])
    return (np.sin(t) + 0.05 * r.normal(size=t.shape)).astype(np.float32)


class StationTrainer:
    def __init__(self, series):
        self.series = torch.from_numpy(series)
        self.model = Seq2Seq()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=5e-3)
        self.loss_fn = nn.L1Loss()

    def window(self, start, history=24):
        past = self.series[start : start + history]
        future = self.series[start + history : start + history + STEPS]
        return past.unsqueeze(0), future

    def fit(self, n_steps):
        history = []
        for _ in range(n_steps):
            past, future = self.window(int(torch.randint(0, 160, (1,))))
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.model(past), future)
            loss.backward()
            self.optimizer.step()
            history.append(loss.item())
        return history


torch.manual_seed(0)
losses = StationTrainer(station_data(4)).fit(100)
print("first", np.mean(losses[:20]), "last", np.mean(losses[-20:]))
