# line 36: the target network keeps tau = 0.01 of itself and takes 0.99 of the online network
import copy

import numpy as np
import torch
from torch import nn


class Corridor:
    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.at = 0
        return self.observe()

    def observe(self):
        return np.eye(self.length, dtype=np.float32)[self.at]

    def step(self, action):
        self.at = max(0, min(self.length - 1, self.at + (1 if action else -1)))
        done = self.at == self.length - 1
        return self.observe(), float(done), done


class DQN:
    def __init__(self, states, tau=0.01, gamma=0.95):
        self.online = nn.Sequential(nn.Linear(states, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.tau, self.gamma = tau, gamma
        self.opt = torch.optim.Adam(self.online.parameters(), lr=3e-3)

    def sync(self):
        new = self.online.state_dict()
        for name, old in self.target.state_dict().items():
            old.copy_((1.0 - self.tau) * old + self.tau * new[name])

    def learn(self, batch):
        s, a, r, s2, done = (torch.as_tensor(np.array(column)) for column in zip(*batch))
        best = self.target(s2).amax(dim=1)
        goal = r.float() + self.gamma * best * (~done).float()
        q = self.online(s).gather(1, a[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(q, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sync()


rng = np.random.default_rng(4)
torch.manual_seed(4)
env, agent, memory = Corridor(), DQN(8), []
state = env.reset()
for t in range(600):
    action = int(rng.integers(2))
    following, reward, done = env.step(action)
    memory.append((state, action, reward, following, done))
    state = env.reset() if done else following
    if t > 64:
        agent.learn([memory[i] for i in rng.integers(0, len(memory), 32)])
print("greedy actions", agent.online(torch.eye(8)).argmax(dim=1).tolist())
