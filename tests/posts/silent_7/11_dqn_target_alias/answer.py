import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 9
GAMMA = 0.97
SYNC_EVERY = 100


class Corridor:
    """Walk right to the goal at the end; each step may slip."""

    def reset(self):
        self.pos, self.t = 0, 0
        return self.pos

    def step(self, action):
        move = 1 if action == 1 else -1
        if random.random() < 0.1:
            move = -move
        self.pos = min(max(self.pos + move, 0), LENGTH - 1)
        self.t += 1
        goal = self.pos == LENGTH - 1
        return self.pos, (1.0 if goal else -0.01), goal, goal or self.t >= 60


class QNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LENGTH, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, state):
        return self.net(F.one_hot(state, LENGTH).float())


class Agent:
    def __init__(self):
        self.online = QNet()
        self.target = QNet()
        self.target.load_state_dict(self.online.state_dict())
        self.target.eval()
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=2e-3)
        self.memory = deque(maxlen=3000)
        self.updates = 0

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.online(torch.tensor([state])).argmax(1).item()

    def learn(self, batch_size=32):
        batch = random.sample(self.memory, batch_size)
        s, a, r, s2, done = (torch.tensor(col) for col in zip(*batch))
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + GAMMA * self.target(s2).max(dim=1).values * (~done).float()
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % SYNC_EVERY == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item()

    @torch.no_grad()
    def lag(self):
        states = torch.arange(LENGTH)
        return (self.online(states) - self.target(states)).abs().max().item()


random.seed(0)
torch.manual_seed(0)
env, agent = Corridor(), Agent()
returns, lags = [], []
for episode in range(90):
    state, finished, total = env.reset(), False, 0.0
    eps = max(0.05, 0.9 - episode / 50)
    while not finished:
        action = agent.act(state, eps)
        nxt, reward, terminal, finished = env.step(action)
        agent.memory.append((state, action, reward, nxt, terminal))
        state, total = nxt, total + reward
        if len(agent.memory) >= 200:
            agent.learn()
            lags.append(agent.lag())
    returns.append(total)
    if (episode + 1) % 15 == 0:
        print(f"episode {episode + 1:3d}  return {sum(returns[-15:]) / 15:.3f}  largest lag of the target {max(lags, default=0):.4f}")
