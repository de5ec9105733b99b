"""DQN for a corridor: walk right to the goal, keys on the way."""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    n_actions = 3

    def __init__(self, length=8, seed=0):
        self.length = length
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.pos, self.t, self.key = 0, 0, False
        return self._obs()

    def _obs(self):
        o = np.zeros(self.length + 1, dtype=np.float32)
        o[self.pos] = 1.0
        o[-1] = float(self.key)
        return o

    def step(self, action):
        self.t += 1
        if action == 0:
            self.pos = max(0, self.pos - 1)
        elif action == 1:
            self.pos = min(self.length - 1, self.pos + 1)
        elif self.pos == 3:
            self.key = True
        if self.rng.rand() < 0.05:
            self.pos = max(0, self.pos - 1)
        done = self.pos == self.length - 1
        reward = (1.0 if self.key else 0.2) if done else -0.01
        return self._obs(), reward, done or self.t >= 40


class ReplayBuffer:
    def __init__(self, capacity, obs_dim):
        self.capacity = capacity
        self.obs = np.zeros((capacity, obs_dim), dtype=np.float32)
        self.next_obs = np.zeros((capacity, obs_dim), dtype=np.float32)
        self.actions = np.zeros((capacity, 1), dtype=np.float32)
        self.rewards = np.zeros(capacity, dtype=np.float32)
        self.dones = np.zeros(capacity, dtype=np.float32)
        self.ptr = self.size = 0

    def add(self, o, a, r, o2, d):
        i = self.ptr
        self.obs[i], self.actions[i], self.rewards[i] = o, a, r
        self.next_obs[i], self.dones[i] = o2, d
        self.ptr = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, n):
        idx = np.random.randint(0, self.size, size=n)
        return tuple(torch.as_tensor(a[idx]) for a in
                     (self.obs, self.actions, self.rewards, self.next_obs, self.dones))


class QNet(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(obs_dim, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, o):
        return self.layers(o)


def main(total_steps=800, learning_starts=200, batch_size=32, gamma=0.97):
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    env = Corridor()
    obs_dim = env.length + 1
    q, target = QNet(obs_dim, env.n_actions), QNet(obs_dim, env.n_actions)
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
    buffer = ReplayBuffer(500, obs_dim)
    returns = deque(maxlen=20)
    obs, ep_return = env.reset(), 0.0
    for step in range(total_steps):
        eps = max(0.05, 1.0 - step / 500)
        if random.random() < eps:
            action = random.randrange(env.n_actions)
        else:
            with torch.no_grad():
                action = q(torch.from_numpy(obs).unsqueeze(0)).argmax(1).item()
        nxt, reward, done = env.step(action)
        buffer.add(obs, action, reward, nxt, float(done))
        ep_return += reward
        obs = nxt
        if done:
            returns.append(ep_return)
            obs, ep_return = env.reset(), 0.0
        if step >= learning_starts:
            o, a, r, o2, d = buffer.sample(batch_size)
            with torch.no_grad():
                best = target(o2).max(1).values
                y = r + gamma * (1 - d) * best
            pred = q(o).gather(1, a).squeeze(1)
            loss = F.smooth_l1_loss(pred, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                target.load_state_dict(q.state_dict())
                print(f"step {step} eps {eps:.2f} loss {loss.item():.4f} return {np.mean(returns):.3f}")


if __name__ == "__main__":
    main()
