import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LeakyRNN(nn.Module):
    """Rate network: r[t+1] = (1 - a) r[t] + a tanh(W r[t] + U x[t])."""

    def __init__(self, n_in, n_units, n_out, alpha=0.2):
        super().__init__()
        self.n_units = n_units
        self.alpha = alpha
        self.win = nn.Linear(n_in, n_units)
        self.wrec = nn.Linear(n_units, n_units, bias=False)
        self.wout = nn.Linear(n_units, n_out)
        nn.init.normal_(self.wrec.weight, std=1.2 / math.sqrt(n_units))

    def forward(self, x):
        batch, steps, _ = x.shape
        rates = torch.zeros(batch, steps + 1, self.n_units, device=x.device)
        drive = self.win(x)
        for t in range(steps):
            pre = self.wrec(rates[:, t]) + drive[:, t]
            rates[:, t + 1] = (1 - self.alpha) * rates[:, t] + self.alpha * torch.tanh(pre)
        return self.wout(rates[:, 1:]), rates


def make_task(n=96, steps=40):
    t = torch.linspace(0, 4 * math.pi, steps)
    freq = torch.rand(n, 1) + 0.5
    cue = freq.unsqueeze(1).expand(-1, steps, -1)
    noise = 0.1 * torch.randn(n, steps, 1)
    target = torch.sin(freq * t).unsqueeze(-1)
    return torch.cat([cue, noise], dim=2), target


torch.manual_seed(0)
x, y = make_task()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

net = LeakyRNN(n_in=2, n_units=64, n_out=1)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(4):
    epoch_loss = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        out, rates = net(xb)
        loss = criterion(out, yb) + 1e-3 * rates.pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch}: loss {epoch_loss / len(loader):.4f}")
