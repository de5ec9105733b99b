import random
from typing import Optional

import numpy as np
import torch
from torch import nn, Tensor
from torch.utils.data import DataLoader, TensorDataset

ENC_LEN = 36
DEC_LEN = 12
BATCH = 40


def simulate_catchment(n: int, seed: int = 0) -> np.ndarray:
    """Rain drives two linear reservoirs; returns (n, 2): log flow, rain."""
    rng = np.random.default_rng(seed)
    rain = rng.exponential(2.0, n) * (rng.random(n) < 0.3)
    fast, slow = 0.0, 3.0
    flow = np.empty(n)
    for t in range(n):
        fast = 0.7 * fast + 0.5 * rain[t]
        slow = 0.98 * slow + 0.05 * rain[t]
        flow[t] = fast + slow
    return np.stack([np.log1p(flow), rain], axis=1)


class Encoder(nn.Module):
    def __init__(self, n_in: int, hidden: int):
        super().__init__()
        self.rnn = nn.LSTM(n_in, hidden, batch_first=True)

    def forward(self, x: Tensor):
        _, state = self.rnn(x)
        return state


class Decoder(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.cell = nn.LSTMCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, y_prev: Tensor, state):
        h, c = self.cell(y_prev, state)
        return self.out(h), (h, c)


class FlowSeq2Seq(nn.Module):
    def __init__(self, n_in: int = 2, hidden: int = 40):
        super().__init__()
        self.encoder = Encoder(n_in, hidden)
        self.decoder = Decoder(hidden)

    def forward(self, x: Tensor, target: Optional[Tensor] = None, teacher_forcing: float = 0.0) -> Tensor:
        h, c = self.encoder(x)
        state = (h[-1], c[-1])
        y = x[:, -1, :1]
        outputs = []
        for t in range(DEC_LEN):
            y, state = self.decoder(y, state)
            outputs.append(y.squeeze(1))
            if target is not None and random.random() < teacher_forcing:
                y = target[:, t:t + 1]
        return torch.stack(outputs)


def to_dataset(z: np.ndarray) -> TensorDataset:
    n = len(z) - ENC_LEN - DEC_LEN + 1
    x = np.stack([z[i:i + ENC_LEN] for i in range(n)])
    y = np.stack([z[i + ENC_LEN:i + ENC_LEN + DEC_LEN, 0] for i in range(n)])
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))


def rmse(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    se, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            se += (model(x) - y).pow(2).sum().item()
            n += y.numel()
    return (se / n) ** 0.5


def main():
    random.seed(2)
    torch.manual_seed(2)
    raw = simulate_catchment(1500)
    split = 1200
    mu, sigma = raw[:split].mean(0), raw[:split].std(0)
    z = (raw - mu) / sigma
    train_dl = DataLoader(to_dataset(z[:split]), batch_size=BATCH, shuffle=True)
    test_dl = DataLoader(to_dataset(z[split:]), batch_size=BATCH)

    net = FlowSeq2Seq()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    mse = nn.MSELoss()
    for epoch in range(4):
        net.train()
        ratio = max(0.0, 0.6 - 0.2 * epoch)
        running = 0.0
        for x, y in train_dl:
            opt.zero_grad()
            loss = mse(net(x, y, ratio), y)
            loss.backward()
            opt.step()
            running += loss.item() * len(x)
        print(f"epoch {epoch}: train mse {running / len(train_dl.dataset):.4f}, test rmse {rmse(net, test_dl):.4f}")


if __name__ == "__main__":
    main()
