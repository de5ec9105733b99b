# line 64: the actions of the replay batch are one-dimensional while gather needs an index of the rank of the q values; mended by: unsqueezing the actions for gather and squeezing the result
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class ReplayBuffer:
    def __init__(self, capacity, obs_dim):
        self.obs = np.zeros((capacity, obs_dim), np.float32)
        self.next_obs = np.zeros((capacity, obs_dim), np.float32)
        self.act = np.zeros(capacity, np.int64)
        self.rew = np.zeros(capacity, np.float32)
        self.done = np.zeros(capacity, np.float32)
        self.capacity, self.n = capacity, 0

    def add(self, o, a, r, o2, d):
        i = self.n % self.capacity
        self.obs[i], self.act[i], self.rew[i], self.next_obs[i], self.done[i] = o, a, r, o2, d
        self.n += 1

    def sample(self, k):
        idx = np.random.randint(0, min(self.n, self.capacity), k)
        arrays = (self.obs, self.act, self.rew, self.next_obs, self.done)
        return [torch.as_tensor(a[idx]) for a in arrays]


class Dueling(nn.Module):
    def __init__(self, obs_dim, n_act):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, 32), nn.ReLU())
        self.v = nn.Linear(32, 1)
        self.a = nn.Linear(32, n_act)

    def forward(self, o):
        h = self.trunk(o)
        adv = self.a(h)
        return self.v(h) + adv - adv.mean(1, keepdim=True)


def thermostat_step(state, a):
    temp, outside = state
    temp = temp + 0.1 * (outside - temp) + (0.0, 0.15, 0.3)[a]
    reward = -abs(temp) - 0.02 * a
    return np.array([temp, outside], np.float32), reward


np.random.seed(0)
torch.manual_seed(0)
online, target = Dueling(2, 3), Dueling(2, 3)
target.load_state_dict(online.state_dict())
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
buf = ReplayBuffer(500, 2)
state = np.array([0.5, -1.0], np.float32)
for t in range(200):
    with torch.no_grad():
        a = int(online(torch.from_numpy(state)[None]).argmax()) if np.random.rand() > 0.3 else np.random.randint(3)
    nxt, r = thermostat_step(state, a)
    buf.add(state, a, r, nxt, float(t % 50 == 49))
    state = nxt if t % 50 != 49 else np.array([np.random.randn(), -1.0], np.float32)
    if t < 32:
        continue
    o, act, rew, o2, d = buf.sample(32)
    q = online(o).gather(1, act.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = online(o2).argmax(1, keepdim=True)
        y = rew + 0.97 * (1 - d) * target(o2).gather(1, best).squeeze(1)
    loss = F.smooth_l1_loss(q, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if t % 40 == 0:
        target.load_state_dict(online.state_dict())
print("last loss", loss.item())
