# line 55: the temporal difference target of shape (N, 1) is compared with chosen values of shape (N,)
import random
from collections import deque

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)


class Corridor:
    """Walk to the right end of a corridor of seven cells."""

    def reset(self):
        self.cell = 3
        return self._obs()

    def _obs(self):
        return nn.functional.one_hot(torch.tensor(self.cell), 7).float()

    def step(self, action):
        self.cell += 1 if action == 1 else -1
        done = self.cell in (0, 6)
        return self._obs(), float(self.cell == 6), done


def collect(buffer, env, n):
    obs = env.reset()
    for _ in range(n):
        action = random.randrange(2)
        nxt, reward, done = env.step(action)
        buffer.append((obs, action, reward, nxt, float(done)))
        obs = env.reset() if done else nxt


def unpack(rows):
    obs, action, reward, nxt, done = zip(*rows)
    column = lambda v: torch.tensor(v).reshape(-1, 1)
    return torch.stack(obs), torch.tensor(action), column(reward), torch.stack(nxt), column(done)


buffer = deque(maxlen=2000)
collect(buffer, Corridor(), 600)
online = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 2))
frozen = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 2))
frozen.load_state_dict(online.state_dict())
opt = torch.optim.Adam(online.parameters(), lr=5e-3)
for it in range(200):
    obs, action, reward, nxt, done = unpack(random.sample(list(buffer), 32))
    with torch.no_grad():
        best = frozen(nxt).max(dim=1, keepdim=True).values
        goal = reward + 0.95 * (1 - done) * best
    chosen = (online(obs) * nn.functional.one_hot(action, 2)).sum(dim=1)
    loss = (chosen - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        frozen.load_state_dict(online.state_dict())
print("values in the middle:", online(Corridor().reset()).tolist())
