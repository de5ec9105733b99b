import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class GridEnv:
    """Walk on a line of 10 cells, reward at the right end."""

    def __init__(self, n=10):
        self.n = n

    def reset(self):
        self.pos = self.n // 2
        self.t = 0
        return self._obs()

    def _obs(self):
        obs = np.zeros(self.n, dtype=np.float32)
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.pos = max(0, min(self.n - 1, self.pos + (1 if action == 1 else -1)))
        self.t += 1
        done = self.pos == self.n - 1 or self.t >= 30
        return self._obs(), float(self.pos == self.n - 1), done


policy = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 2), nn.Softmax(dim=-1))
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
gamma = 0.98


def select_action(obs):
    probs = policy(torch.from_numpy(obs))
    p = probs.numpy()
    action = np.random.choice(2, p=p / p.sum())
    return action, torch.log(probs[action])


for episode in range(60):
    env = GridEnv()
    obs, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        action, log_prob = select_action(obs)
        obs, reward, done = env.step(action)
        log_probs.append(log_prob)
        rewards.append(reward)

    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)

    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 20 == 0:
        print(episode, sum(rewards), len(rewards))
