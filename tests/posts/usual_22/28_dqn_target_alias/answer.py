import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class GridWorld:
    def __init__(self, size=5, max_steps=40):
        self.size, self.max_steps = size, max_steps

    def _obs(self):
        obs = np.zeros(self.size * self.size, dtype=np.float32)
        obs[self.pos[0] * self.size + self.pos[1]] = 1.0
        return obs

    def reset(self):
        self.pos, self.t = [0, 0], 0
        return self._obs()

    def step(self, action):
        dx, dy = [(0, 1), (0, -1), (1, 0), (-1, 0)][action]
        self.pos[0] = min(max(self.pos[0] + dx, 0), self.size - 1)
        self.pos[1] = min(max(self.pos[1] + dy, 0), self.size - 1)
        self.t += 1
        goal = self.pos == [self.size - 1, self.size - 1]
        return self._obs(), (1.0 if goal else -0.01), goal, self.t >= self.max_steps


def make_qnet(n_obs=25, n_actions=4):
    return nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))


class DQNAgent:
    def __init__(self, gamma=0.95, lr=1e-3, sync_every=200):
        self.policy_net = make_qnet()
        self.target_net = copy.deepcopy(self.policy_net)
        self.target_net.eval()
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)
        self.gamma, self.sync_every = gamma, sync_every
        self.updates = 0

    def act(self, obs, epsilon):
        if random.random() < epsilon:
            return random.randrange(4)
        with torch.no_grad():
            return self.policy_net(torch.from_numpy(obs)).argmax().item()

    def learn(self, batch_size=32):
        if len(self.memory) < batch_size:
            return
        s, a, r, s2, done = zip(*random.sample(self.memory, batch_size))
        s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
        a, r = torch.tensor(a), torch.tensor(r)
        done = torch.tensor(done, dtype=torch.float32)
        q = self.policy_net(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            target = r + self.gamma * (1 - done) * self.target_net(s2).max(dim=1).values
        loss = F.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    env, agent = GridWorld(), DQNAgent()
    for episode in range(60):
        obs, total, over = env.reset(), 0.0, False
        epsilon = max(0.05, 1.0 - episode / 40)
        while not over:
            action = agent.act(obs, epsilon)
            next_obs, reward, terminated, truncated = env.step(action)
            agent.memory.append((obs, action, reward, next_obs, terminated))
            agent.learn()
            obs, total, over = next_obs, total + reward, terminated or truncated
        if episode % 10 == 9:
            print(f"episode {episode + 1}: return {total:.2f}")
