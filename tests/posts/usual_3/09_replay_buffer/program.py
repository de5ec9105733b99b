import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class LanderEnv:
    """Minimal stand-in for a gym environment with 8 observations and 4 actions."""

    def reset(self):
        self.t = 0
        self.obs = np.random.uniform(-1, 1, 8).astype(np.float32)
        return self.obs

    def step(self, action):
        self.t += 1
        self.obs = np.clip(self.obs + 0.1 * np.random.randn(8), -1, 1).astype(np.float32)
        reward = float(-np.abs(self.obs).sum() + 0.2 * action)
        return self.obs, reward, self.t >= 40


class QNet(nn.Module):
    def __init__(self, n_obs=8, n_actions=4):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 64)
        self.fc2 = nn.Linear(64, n_actions)

    def forward(self, s):
        return self.fc2(F.relu(self.fc1(s)))


class Agent:
    def __init__(self, gamma=0.99, batch_size=32):
        self.q = QNet()
        self.target = QNet()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-3)
        self.memory = deque(maxlen=5000)
        self.gamma, self.batch_size = gamma, batch_size

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return self.q(state).argmax().item()

    def learn(self):
        if len(self.memory) < self.batch_size:
            return None
        batch = Transition(*zip(*random.sample(self.memory, self.batch_size)))
        states = torch.tensor(batch.state)
        actions = torch.tensor(batch.action).unsqueeze(1)
        rewards = torch.tensor(batch.reward)
        next_states = torch.tensor(batch.next_state)
        done = torch.tensor(batch.done, dtype=torch.float32)

        q = self.q(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            q_next = self.target(next_states).max(dim=1).values
        loss = F.smooth_l1_loss(q, rewards + self.gamma * q_next * (1 - done))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0); np.random.seed(0); torch.manual_seed(0)
env, agent = LanderEnv(), Agent()
for episode in range(6):
    state = torch.from_numpy(env.reset())
    score, done = 0.0, False
    while not done:
        action = agent.act(state, eps=max(0.1, 1.0 - 0.2 * episode))
        obs, reward, done = env.step(action)
        next_state = torch.from_numpy(obs)
        agent.memory.append(Transition(state, action, reward, next_state, done))
        state = next_state
        score += reward
        loss = agent.learn()
    agent.target.load_state_dict(agent.q.state_dict())
    print(f"episode {episode}  score {score:.1f}  loss {loss}")
