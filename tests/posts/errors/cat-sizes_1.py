# line 57: the state has one row per environment step but the goal is kept as a single row, so cat along features fails; mended by: expanding the goal to the rows of the observations
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn


class ReachEnv:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.goal = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.t = 0
        return self.pos.copy()

    def step(self, a):
        self.pos = self.pos + 0.1 * np.clip(a, -1, 1).astype(np.float32)
        self.t += 1
        d = float(np.linalg.norm(self.pos - self.goal))
        return self.pos.copy(), -d, d < 0.05 or self.t >= 20


class GoalPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def dist(self, obs, goal):
        x = torch.cat([obs, goal], dim=-1)
        return torch.distributions.Normal(self.net(x), self.log_std.exp())


def rollout(env, policy):
    obs, done = env.reset(), False
    O, A, R = [], [], []
    goal = torch.from_numpy(env.goal)
    while not done:
        with torch.no_grad():
            a = policy.dist(torch.from_numpy(obs), goal).sample()
        nxt, r, done = env.step(a.numpy())
        O.append(obs); A.append(a); R.append(r)
        obs = nxt
    ret = np.cumsum(R[::-1])[::-1].copy()
    return torch.from_numpy(np.stack(O)), torch.stack(A), torch.tensor(ret, dtype=torch.float32), goal


env, policy = ReachEnv(), GoalPolicy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
recent = deque(maxlen=10)
for episode in range(15):
    obs, act, ret, goal = rollout(env, policy)
    goal = goal.unsqueeze(0)
    logp = policy.dist(obs, goal).log_prob(act).sum(-1)
    adv = (ret - ret.mean()) / (ret.std() + 1e-6)
    loss = -(logp * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(ret[0].item())
print("mean return", sum(recent) / len(recent))
