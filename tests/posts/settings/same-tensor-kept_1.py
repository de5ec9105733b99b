# line 32: the replay memory keeps the observation tensor that the environment writes in place
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class Pendulum:
    def __init__(self):
        self.obs = torch.zeros(2)

    def reset(self):
        self.obs.copy_(torch.randn(2))
        return self.obs

    def step(self, push):
        angle, speed = self.obs.tolist()
        speed = 0.95 * speed - 0.2 * angle + 0.1 * push
        self.obs[0] = angle + 0.1 * speed
        self.obs[1] = speed
        return self.obs, -abs(angle)


class Memory:
    def __init__(self, size):
        self.size, self.rows = size, []

    def push(self, obs, action, reward):
        self.rows.append((obs, action, reward))
        self.rows = self.rows[-self.size :]

    def sample(self, n):
        obs, action, reward = zip(*random.sample(self.rows, n))
        return torch.stack(obs), torch.tensor(action), torch.tensor(reward)


env, memory = Pendulum(), Memory(500)
q = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
obs = env.reset()
for t in range(300):
    action = random.randrange(2)
    before = obs
    obs, reward = env.step(2 * action - 1)
    memory.push(before, action, reward)
    if t % 50 == 49:
        obs = env.reset()
    if t >= 64:
        s, a, r = memory.sample(32)
        value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = nn.functional.mse_loss(value, r)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", loss.item())
