import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Walk right to the goal in cell 7; every step costs a little."""

    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        state = np.zeros(self.length, dtype=np.float32)
        state[self.pos] = 1.0
        return state

    def step(self, action):
        self.pos = max(0, self.pos - 1) if action == 0 else self.pos + 1
        self.t += 1
        reached = self.pos == self.length - 1
        return self.obs(), (1.0 if reached else -0.02), reached, self.t >= 60


class DQNAgent:
    def __init__(self, n_states, n_actions, gamma=0.97, lr=1e-3):
        self.n_actions = n_actions
        self.gamma = gamma
        self.q = nn.Sequential(nn.Linear(n_states, 64), nn.ReLU(), nn.Linear(64, n_actions))
        self.target = nn.Sequential(nn.Linear(n_states, 64), nn.ReLU(), nn.Linear(64, n_actions))
        self.target.load_state_dict(self.q.state_dict())
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(state)).argmax())

    def learn(self, batch_size=32):
        if len(self.memory) < batch_size:
            return
        states, actions, rewards, next_states, dones = zip(*random.sample(self.memory, batch_size))
        states = torch.from_numpy(np.stack(states))
        next_states = torch.from_numpy(np.stack(next_states))
        actions = torch.tensor(actions)
        rewards = torch.tensor(rewards)
        dones = torch.tensor(dones, dtype=torch.float32)

        q_values = self.q(states).gather(1, actions)
        with torch.no_grad():
            best_next = self.target(next_states).max(dim=1).values
            targets = rewards + self.gamma * (1 - dones) * best_next
        loss = F.smooth_l1_loss(q_values, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


random.seed(0)
torch.manual_seed(0)
env = Corridor()
agent = DQNAgent(8, 2)
for episode in range(30):
    state, done, truncated, total = env.reset(), False, False, 0.0
    eps = max(0.05, 1.0 - episode / 20)
    while not (done or truncated):
        action = agent.act(state, eps)
        next_state, reward, done, truncated = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        agent.learn()
        state = next_state
        total += reward
    if episode % 5 == 0:
        agent.target.load_state_dict(agent.q.state_dict())
        print(f"episode {episode}: return {total:.2f}")
