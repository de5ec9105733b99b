import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.pos, self.steps = 0, 0
        return self.state()

    def state(self):
        s = np.zeros(self.length, dtype=np.float32)
        s[self.pos] = 1
        return s

    def step(self, a):
        self.pos = min(self.length - 1, max(0, self.pos + (1 if a == 1 else -1)))
        self.steps += 1
        done = self.pos == self.length - 1
        return self.state(), (1.0 if done else -0.01), done


class DQNAgent:
    def __init__(self, n_states, n_actions, gamma=0.95, lr=1e-3, sync_every=100):
        self.policy_net = nn.Sequential(nn.Linear(n_states, 32), nn.ReLU(), nn.Linear(32, n_actions))
        self.target_net = copy.deepcopy(self.policy_net)
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.memory = deque(maxlen=2000)
        self.gamma = gamma
        self.n_actions = n_actions
        self.sync_every = sync_every
        self.updates = 0

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            return self.policy_net(torch.from_numpy(state)).argmax().item()

    def learn(self, batch_size=32):
        if len(self.memory) < batch_size:
            return
        s, a, r, s2, d = zip(*random.sample(self.memory, batch_size))
        s, s2 = torch.tensor(np.array(s)), torch.tensor(np.array(s2))
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d, dtype=torch.float32)
        q = self.policy_net(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            target = r + self.gamma * self.target_net(s2).max(1).values * (1 - d)
        loss = F.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())


random.seed(0)
torch.manual_seed(0)
env, agent = Corridor(), DQNAgent(8, 2)
for episode in range(60):
    state, done = env.reset(), False
    eps = max(0.05, 1 - episode / 30)
    while not done and env.steps < 60:
        action = agent.act(state, eps)
        next_state, reward, done = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        state = next_state
        agent.learn()
    if episode % 10 == 9:
        print(f"episode {episode + 1}: {env.steps} steps")
