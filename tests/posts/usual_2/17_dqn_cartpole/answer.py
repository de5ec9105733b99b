import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA = 0.99
BATCH = 32


class FakeCartPole:
    """A small stand-in for the gym environment."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.t = 0
        self.state = self.rng.uniform(-0.05, 0.05, 4).astype(np.float32)
        return self.state

    def step(self, action):
        self.t += 1
        push = 0.1 if action == 1 else -0.1
        self.state = (self.state + push + self.rng.normal(0, 0.05, 4)).astype(np.float32)
        done = bool(np.abs(self.state[0]) > 0.6) or self.t >= 50
        return self.state, 1.0, done


class QNetwork(nn.Module):
    def __init__(self, n_state=4, n_actions=2):
        super().__init__()
        self.fc1 = nn.Linear(n_state, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, n_actions)

    def forward(self, s):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(s)))))


class Agent:
    def __init__(self):
        self.q = QNetwork()
        self.target = QNetwork()
        self.target.load_state_dict(self.q.state_dict())
        self.memory = deque(maxlen=5000)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(torch.from_numpy(state)).argmax().item()

    def learn(self):
        states, actions, rewards, next_states, dones = zip(*random.sample(self.memory, BATCH))
        states = torch.from_numpy(np.stack(states))
        next_states = torch.from_numpy(np.stack(next_states))
        actions = torch.tensor(actions, dtype=torch.long)
        rewards = torch.tensor(rewards, dtype=torch.float32)
        dones = torch.tensor(dones, dtype=torch.float32)

        q_values = self.q(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            next_q = self.target(next_states).max(1)[0]
            expected = rewards + GAMMA * next_q * (1 - dones)
        loss = F.smooth_l1_loss(q_values, expected)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
env, agent = FakeCartPole(), Agent()
for episode in range(20):
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state, eps=max(0.05, 0.9 - 0.05 * episode))
        next_state, reward, done = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        state, total = next_state, total + reward
        if len(agent.memory) >= BATCH:
            loss = agent.learn()
    if episode % 5 == 0:
        agent.target.load_state_dict(agent.q.state_dict())
        print(f"episode {episode} return {total}")
