"""Vanilla policy gradient on a small elevator: reach the floor where somebody waits."""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Elevator:
    FLOORS = 6

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def observe(self):
        obs = np.zeros(2 * self.FLOORS)
        obs[self.floor] = 1.0
        obs[self.FLOORS + self.caller] = 1.0
        return obs

    def reset(self):
        self.floor = int(self.rng.integers(self.FLOORS))
        self.caller = int(self.rng.integers(self.FLOORS))
        self.t = 0
        return self.observe()

    def step(self, action):
        # 0 = down, 1 = stay and open, 2 = up
        self.t += 1
        reward = -0.1
        done = self.t >= 20
        if action == 1 and self.floor == self.caller:
            reward, done = 1.0, True
        else:
            self.floor = int(np.clip(self.floor + action - 1, 0, self.FLOORS - 1))
        return self.observe(), reward, done


class Policy(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 64)
        self.fc2 = nn.Linear(64, n_actions)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


def discounted(rewards, gamma):
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        returns.insert(0, g)
    return torch.tensor(returns, dtype=torch.float32)


def play(env, policy):
    log_probs, rewards = [], []
    obs, done = env.reset(), False
    while not done:
        logits = policy(torch.from_numpy(obs))
        dist = Categorical(logits=logits)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, reward, done = env.step(action.item())
        rewards.append(reward)
    return log_probs, rewards


torch.manual_seed(5)
env = Elevator(seed=5)
policy = Policy(2 * Elevator.FLOORS, 3)
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
history = []
baseline = 0.0

for episode in range(1, 1001):
    log_probs, rewards = play(env, policy)
    returns = discounted(rewards, gamma=0.95)
    loss = -(torch.tensor(log_probs) * (returns - baseline)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    baseline = 0.95 * baseline + 0.05 * returns.mean().item()
    history.append(sum(rewards))
    if episode % 200 == 0:
        print(f"episode {episode}: mean return {np.mean(history[-100:]):.2f}")
