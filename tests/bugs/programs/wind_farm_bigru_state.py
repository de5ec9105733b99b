from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    n_features: int = 9
    hidden_size: int = 24
    num_layers: int = 2
    horizon: int = 6


class WindGRU(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.gru = nn.GRU(
            input_size=config.n_features,
            hidden_size=config.hidden_size,
            num_layers=config.num_layers,
            batch_first=True,
            bidirectional=True,
        )
        self.fc = nn.Linear(config.hidden_size * 2, config.horizon)

    def init_hidden(self, batch_size):
        cfg = self.config
        return torch.zeros(cfg.num_layers, batch_size, cfg.hidden_size)

    def forward(self, x):
        h0 = self.init_hidden(x.size(0))
        out, hn = self.gru(x, h0)
        return self.fc(out[:, -1, :])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()
        self.net = WindGRU(self.config)

    def forward(self, x):
        return self.net(x)


def example_inputs():
    return (torch.randn(5, 48, 9),)
