# line 27: the rollout of a forecaster steps a GRU and passes no state: forward() makes a new zero state each time
import numpy as np
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, channels=2, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.core = nn.GRU(channels, hidden)
        self.to_next = nn.Linear(hidden, channels)

    def forward(self, seq, memory=None):
        if memory is None:
            memory = seq.new_zeros(1, seq.size(1), self.hidden)
        states, memory = self.core(seq, memory)
        return self.to_next(states), memory

    @torch.inference_mode()
    def rollout(self, history, horizon):
        self.eval()
        preds, memory = self(history)
        current = preds[-1:]
        path = [current]
        for _ in range(horizon - 1):
            current, memory = self(current)
            path.append(current)
        return torch.cat(path)


def orbits(n, steps, rng):
    phase = rng.uniform(0, 2 * np.pi, n)
    speed = rng.uniform(0.2, 0.4, n)
    angle = phase + np.arange(steps)[:, None] * speed
    return torch.tensor(np.stack([np.cos(angle), np.sin(angle)], -1), dtype=torch.float32)


torch.manual_seed(0)
rng = np.random.default_rng(0)
net = Forecaster()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(80):
    x = orbits(32, 25, rng)
    guess, _ = net(x[:-1])
    loss = (guess - x[1:]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
test = orbits(20, 40, rng)
future = net.rollout(test[:20], 20)
print("train", loss.item(), "rollout error", (future - test[20:]).square().mean().item())
