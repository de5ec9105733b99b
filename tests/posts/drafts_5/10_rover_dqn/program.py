import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class RoverEnv:
    """A rover on a 5x5 plain. It has to reach the base in the corner, craters end the episode."""

    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self):
        self.base = (4, 4)
        self.craters = {(1, 3), (3, 1), (2, 2)}

    def reset(self):
        self.pos = (0, 0)
        self.steps = 0
        return self._obs()

    def _obs(self):
        return np.array([self.pos[0] / 4, self.pos[1] / 4,
                         (4 - self.pos[0]) / 4, (4 - self.pos[1]) / 4])

    def step(self, action):
        dr, dc = self.MOVES[action]
        self.pos = (min(max(self.pos[0] + dr, 0), 4), min(max(self.pos[1] + dc, 0), 4))
        self.steps += 1
        if self.pos == self.base:
            return self._obs(), 10.0, True
        if self.pos in self.craters:
            return self._obs(), -5.0, True
        return self._obs(), -0.1, self.steps >= 40


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, *transition):
        self.buffer.append(transition)

    def sample(self, batch_size):
        states, actions, rewards, next_states, dones = zip(*random.sample(self.buffer, batch_size))
        return (torch.tensor(np.array(states), dtype=torch.float32),
                torch.tensor(actions),
                torch.tensor(rewards, dtype=torch.float32),
                torch.tensor(np.array(next_states), dtype=torch.float32),
                torch.tensor(dones, dtype=torch.float32))

    def __len__(self):
        return len(self.buffer)


class QNet(nn.Module):
    def __init__(self, n_obs=4, n_actions=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                    nn.Linear(64, n_actions))

    def forward(self, x):
        return self.layers(x)


class Agent:
    def __init__(self, gamma=0.95, lr=2e-3, batch_size=64, sync_every=50):
        self.policy, self.target = QNet(), QNet()
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.memory = ReplayBuffer(5000)
        self.gamma, self.batch_size, self.sync_every = gamma, batch_size, sync_every
        self.updates = 0

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(4)
        with torch.no_grad():
            return self.policy(torch.from_numpy(state)).argmax().item()

    def learn(self):
        if len(self.memory) < self.batch_size:
            return
        states, actions, rewards, next_states, dones = self.memory.sample(self.batch_size)
        q = self.policy(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            next_q = self.target(next_states).max(1)[0]
            expected = rewards + self.gamma * next_q
        loss = F.smooth_l1_loss(q, expected)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target.load_state_dict(self.policy.state_dict())


random.seed(7)
torch.manual_seed(7)
env, agent = RoverEnv(), Agent()
returns = []
for episode in range(250):
    epsilon = max(0.05, 1.0 - episode / 150)
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state, epsilon)
        next_state, reward, done = env.step(action)
        agent.memory.push(state, action, reward, next_state, done)
        agent.learn()
        state, total = next_state, total + reward
    returns.append(total)
    if (episode + 1) % 50 == 0:
        q0 = agent.policy(torch.tensor(env.reset(), dtype=torch.float32)).max().item()
        print(f"episode {episode + 1}: mean return {np.mean(returns[-50:]):.2f}  value of the start {q0:.2f}")
