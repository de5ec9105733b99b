import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Linear(6, 1)

    def forward(self, obs, rew, done):
        v = self.v(obs).squeeze(-1)
        adv = torch.zeros_like(rew)
        last = 0
        for t in reversed(range(rew.size(0) - 1)):
            delta = rew[t] + 0.99 * v[t + 1] * (1 - done[t]) - v[t]
            last = delta + 0.9 * (1 - done[t]) * last
            adv[t] = last
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        return adv.flatten(), rew.cumsum(0)


def example_inputs():
    return (
        torch.randn(8, 3, 6),
        torch.randn(8, 3),
        torch.zeros(8, 3),
    )
