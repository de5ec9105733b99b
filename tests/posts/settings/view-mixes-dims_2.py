# line 35: the (time, station, feature) readings are regrouped with torch.reshape, without a transpose, to (station, time, feature)
import numpy as np
import torch
import torch.nn as nn


def build_tensor(n_time, n_station, n_feat, rs):
    base = rs.randn(1, n_station, n_feat)
    wave = np.sin(np.arange(n_time)[:, None, None] / 5 + base)
    return torch.from_numpy((wave + 0.1 * rs.randn(n_time, n_station, n_feat)).astype(np.float32))


class PerStationGRU(nn.Module):
    def __init__(self, n_feat, hidden):
        super().__init__()
        self.rnn = nn.GRU(n_feat, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, n_feat)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.readout(h)


class Experiment:
    hp = {"hidden": 24, "lr": 5e-3, "epochs": 15, "n_time": 80, "n_station": 12, "n_feat": 3}

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.raw = build_tensor(self.hp["n_time"], self.hp["n_station"], self.hp["n_feat"], np.random.RandomState(seed))
        self.net = PerStationGRU(self.hp["n_feat"], self.hp["hidden"])
        self.opt = torch.optim.Adam(self.net.parameters(), lr=self.hp["lr"])

    def station_first(self, block):
        t, s, f = block.shape
        return torch.reshape(block, (s, t, f))

    def run(self):
        past, future = self.raw[:60], self.raw[60:]
        train_x = self.station_first(past)
        test_x = self.station_first(future)
        for _ in range(self.hp["epochs"]):
            out = self.net(train_x[:, :-1])
            loss = (out - train_x[:, 1:]).abs().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        self.net.eval()
        with torch.no_grad():
            return (self.net(test_x[:, :-1]) - test_x[:, 1:]).abs().mean().item()


print("one-step error", Experiment(1).run())
