# Deep Q-learning on CartPole, following an old blog post.
import math
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class CartPoleEnv:
    """CartPole with the Gymnasium interface (copied so that nothing has to be installed)."""

    def reset(self, seed=None):
        rng = np.random.default_rng(seed)
        self.s = rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32), {}

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a == 1 else -10.0
        tmp = (f + 0.05 * w * w * math.sin(th)) / 1.1
        wacc = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * math.cos(th) ** 2 / 1.1))
        vacc = tmp - 0.05 * wacc * math.cos(th) / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * vacc, th + 0.02 * w, w + 0.02 * wacc])
        self.t += 1
        terminated = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095)
        return self.s.astype(np.float32), 1.0, terminated, self.t >= 500, {}


GAMMA, BATCH, LR = 0.99, 32, 1e-3
env = CartPoleEnv()


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 64)
        self.fc2 = nn.Linear(64, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Agent:
    def __init__(self):
        self.q = QNet()
        self.target = QNet()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = optim.Adam(self.q.parameters(), lr=LR)
        self.memory = deque(maxlen=5000)
        self.eps = 1.0

    def act(self, state):
        if random.random() < self.eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(torch.FloatTensor(state).unsqueeze(0)).argmax(1).item()

    def remember(self, *transition):
        self.memory.append(transition)

    def learn(self):
        if len(self.memory) < BATCH:
            return None
        s, a, r, s2, d = zip(*random.sample(self.memory, BATCH))
        s = torch.FloatTensor(np.array(s))
        a = torch.LongTensor(a).unsqueeze(1)
        r = torch.FloatTensor(r)
        s2 = torch.FloatTensor(np.array(s2))
        d = torch.FloatTensor(d)
        q = self.q(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            y = r + GAMMA * self.target(s2).max(1)[0] * (1 - d)
        loss = nn.functional.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
agent = Agent()
for episode in range(40):
    state = env.reset(seed=episode)
    score, done = 0, False
    while not done:
        action = agent.act(state)
        next_state, reward, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        agent.remember(state, action, reward, next_state, float(terminated))
        state = next_state
        agent.learn()
        score += reward
    agent.eps = max(0.05, agent.eps * 0.95)
    if episode % 5 == 0:
        agent.target.load_state_dict(agent.q.state_dict())
        print("episode", episode, "score", score)
