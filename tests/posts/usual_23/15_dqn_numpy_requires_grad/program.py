import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class LineWorld:
    """Walk on a line: reach the right end for a reward."""

    def __init__(self, length=8, max_steps=40):
        self.length, self.max_steps = length, max_steps

    def reset(self):
        self.pos, self.t = self.length // 2, 0
        return self._obs()

    def _obs(self):
        obs = np.zeros(self.length, dtype=np.float32)
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.t += 1
        self.pos = min(max(self.pos + (1 if action == 1 else -1), 0), self.length - 1)
        done = self.pos == self.length - 1
        reward = 1.0 if done else -0.01
        return self._obs(), reward, done, self.t >= self.max_steps


class QNetwork(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs_dim, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.net(x)


class DQNAgent:
    def __init__(self, obs_dim, n_actions, gamma=0.95, lr=1e-3):
        self.n_actions, self.gamma = n_actions, gamma
        self.q = QNetwork(obs_dim, n_actions)
        self.target = QNetwork(obs_dim, n_actions)
        self.target.load_state_dict(self.q.state_dict())
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)
        self.epsilon = 1.0

    def act(self, obs):
        if random.random() < self.epsilon:
            return random.randrange(self.n_actions)
        q_values = self.q(torch.from_numpy(obs).unsqueeze(0))
        return int(np.argmax(q_values.numpy()))

    def learn(self, batch_size=32):
        if len(self.memory) < batch_size:
            return
        obs, act, rew, nxt, done = zip(*random.sample(self.memory, batch_size))
        obs = torch.from_numpy(np.stack(obs))
        nxt = torch.from_numpy(np.stack(nxt))
        act = torch.tensor(act).unsqueeze(1)
        rew = torch.tensor(rew, dtype=torch.float32)
        done = torch.tensor(done, dtype=torch.float32)
        q = self.q(obs).gather(1, act).squeeze(1)
        with torch.no_grad():
            y = rew + self.gamma * (1 - done) * self.target(nxt).max(dim=1).values
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


random.seed(0)
torch.manual_seed(0)
env = LineWorld()
agent = DQNAgent(env.length, 2)

for episode in range(40):
    obs, total, done, truncated = env.reset(), 0.0, False, False
    while not (done or truncated):
        action = agent.act(obs)
        nxt, reward, done, truncated = env.step(action)
        agent.memory.append((obs, action, reward, nxt, done))
        agent.learn()
        obs, total = nxt, total + reward
    agent.epsilon = max(0.05, agent.epsilon * 0.93)
    if episode % 5 == 0:
        agent.target.load_state_dict(agent.q.state_dict())
        print(f"episode {episode} return {total:.2f} epsilon {agent.epsilon:.2f}")
