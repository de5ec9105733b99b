import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)


class Maze:
    """4 x 4 grid, the goal is the last cell."""

    def reset(self):
        self.pos = [0, 0]
        return np.array(self.pos, dtype=np.float32)

    def step(self, a):
        dy, dx = [(-1, 0), (1, 0), (0, 1), (0, -1)][a]
        self.pos = [min(3, max(0, self.pos[0] + dy)), min(3, max(0, self.pos[1] + dx))]
        done = self.pos == [3, 3]
        return np.array(self.pos, dtype=np.float32), float(done), done


class Agent:
    def __init__(self, n_actions=4, n_features=2, gamma=0.9, batch=32, sync=50):
        self.n_actions, self.gamma, self.batch, self.sync = n_actions, gamma, batch, sync
        self.online, self.frozen = self._net(n_features), self._net(n_features)
        self.replay = deque(maxlen=500)
        self.optimizer = torch.optim.RMSprop(self.online.parameters(), lr=0.01)
        self.updates = 0
        self.costs = []

    def _net(self, n_features):
        return nn.Sequential(nn.Linear(n_features, 20), nn.ReLU(), nn.Linear(20, self.n_actions))

    def act(self, s):
        if random.random() < 0.1:
            return random.randrange(self.n_actions)
        return int(self.online(torch.from_numpy(s)).argmax())

    def learn(self):
        if self.updates % self.sync == 0:
            self.frozen.load_state_dict(self.online.state_dict())
        s, a, r, s2, d = map(np.array, zip(*random.sample(self.replay, self.batch)))
        q = self.online(torch.from_numpy(s)).gather(1, torch.from_numpy(a)[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.frozen(torch.from_numpy(s2)).max(1)[0]
            goal = torch.from_numpy(r).float() + self.gamma * best * torch.from_numpy(1.0 - d).float()
        cost = nn.functional.mse_loss(q, goal)
        self.optimizer.zero_grad()
        cost.backward()
        self.optimizer.step()
        self.costs.append(cost)
        self.updates += 1

    def cost_curve(self, width=10):
        costs = np.array([c.numpy() for c in self.costs])
        return np.convolve(costs, np.ones(width) / width, mode='valid')


env, agent = Maze(), Agent()
step = 0
for episode in range(8):
    s = env.reset()
    for _ in range(60):
        a = agent.act(s)
        s2, r, done = env.step(a)
        agent.replay.append((s, a, r, s2, done))
        if step > 64 and step % 5 == 0:
            agent.learn()
        s, step = s2, step + 1
        if done:
            break
curve = agent.cost_curve()
print('updates', agent.updates, 'smoothed cost from %.4f to %.4f' % (curve[0], curve[-1]))
