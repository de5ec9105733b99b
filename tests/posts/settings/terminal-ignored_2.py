# line 30: the TD target of the critic (V of the next state) leaves out the dones that the rollout returns
import numpy as np
import torch
from torch import nn


def rollout(n, rng):
    """Random walk that ends outside of [-1, 1]."""
    s = rng.uniform(-1, 1, (n, 1)).astype(np.float32)
    s2 = s + rng.normal(0, 0.4, (n, 1)).astype(np.float32)
    rewards = (s2[:, 0] > 1).astype(np.float32)
    dones = (np.abs(s2[:, 0]) > 1).astype(np.float32)
    return tuple(torch.from_numpy(a) for a in (s, rewards, s2, dones))


class TDLearner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.value = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.slow = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.slow.load_state_dict(self.value.state_dict())
        self.opt = torch.optim.Adam(self.value.parameters(), lr=cfg["lr"])

    @torch.no_grad()
    def bootstrap(self, rewards, s2):
        return rewards + self.cfg["discount"] * self.slow(s2).squeeze(1)

    def update(self, batch):
        s, rewards, s2, dones = batch
        goal = self.bootstrap(rewards, s2)
        loss = (self.value(s).squeeze(1) - goal).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for a, b in zip(self.slow.parameters(), self.value.parameters()):
                a.lerp_(b, self.cfg["tau"])
        return loss.item()


torch.manual_seed(0)
rng = np.random.default_rng(0)
learner = TDLearner({"lr": 3e-3, "discount": 0.99, "tau": 0.02})
for step in range(300):
    last = learner.update(rollout(64, rng))
with torch.no_grad():
    print(last, learner.value(torch.tensor([[-0.9], [0.0], [0.9]])).flatten().tolist())
