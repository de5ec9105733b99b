import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class LineWorld:
    """Walk on a line; the goal is on the right."""

    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.pos, self.t = 2, 0
        return self._obs()

    def _obs(self):
        return np.array([self.pos / self.length, self.t / 50], dtype=np.float32)

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        self.t += 1
        done = self.pos >= self.length or self.t >= 50
        return self._obs(), (1.0 if self.pos >= self.length else -0.01), done


class DQN(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.net(x)


class Agent:
    def __init__(self, n_obs=2, n_actions=2, gamma=0.98, batch_size=32):
        self.policy_net = DQN(n_obs, n_actions)
        self.target_net = DQN(n_obs, n_actions)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = optim.Adam(self.policy_net.parameters(), lr=1e-3)
        self.memory = deque(maxlen=5000)
        self.gamma, self.batch_size, self.n_actions = gamma, batch_size, n_actions

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            return self.policy_net(torch.from_numpy(state)).argmax().item()

    def learn(self):
        if len(self.memory) < self.batch_size:
            return
        batch = random.sample(self.memory, self.batch_size)
        states, actions, rewards, next_states, dones = zip(*batch)
        states = torch.tensor(np.array(states))
        actions = torch.tensor(actions).unsqueeze(1)
        rewards = torch.tensor(rewards, dtype=torch.float32)
        next_states = torch.tensor(np.array(next_states))
        dones = torch.tensor(dones, dtype=torch.float32)

        q_values = self.policy_net(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            next_q = self.target_net(next_states).max(1)[0]
        target = rewards + self.gamma * next_q * (1 - dones)
        loss = nn.functional.smooth_l1_loss(q_values, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


random.seed(0)
torch.manual_seed(0)
env, agent = LineWorld(), Agent()
for episode in range(40):
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state, eps=max(0.05, 1 - episode / 20))
        next_state, reward, done = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        agent.learn()
        state, total = next_state, total + reward
    if episode % 5 == 0:
        agent.target_net.load_state_dict(agent.policy_net.state_dict())
        print(episode, round(total, 3))
