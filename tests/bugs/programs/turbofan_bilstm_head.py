import torch
import torch.nn as nn

cfg = {
    "n_sensors": 14,
    "hidden": 40,
    "layers": 2,
    "bidirectional": True,
    "dropout": 0.0,
}


class RULNet(nn.Module):
    """Remaining useful life of an engine from windows of sensor values."""

    def __init__(self, cfg):
        super().__init__()
        self.rnn = nn.LSTM(
            cfg["n_sensors"],
            cfg["hidden"],
            num_layers=cfg["layers"],
            bidirectional=cfg["bidirectional"],
            dropout=cfg["dropout"],
            batch_first=True,
        )
        self.head = nn.Sequential(
            nn.Linear(cfg["hidden"], 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1]).squeeze(-1)


def main(windows, rul):
    net = RULNet(cfg)
    optim = torch.optim.Adam(net.parameters(), lr=1e-3)
    pred = net(windows)
    loss = nn.functional.mse_loss(pred, rul)
    optim.zero_grad()
    loss.backward()
    optim.step()
    return pred, loss


def example_inputs():
    return torch.randn(8, 30, 14), torch.rand(8) * 125
