"""Policy gradient in a small grid, no library for environments."""
import argparse
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class GridWorld:
    """Walk to the goal; each step costs, walls are not passed."""

    moves = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])

    def __init__(self, size=4, limit=30):
        self.size, self.limit = size, limit
        self.rng = np.random.default_rng()

    def reset(self, seed=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.place = self.rng.integers(0, self.size, 2)
        self.goal = np.array([self.size - 1, self.size - 1])
        self.steps = 0
        return self.observe(), {}

    def observe(self):
        return np.concatenate([self.place, self.goal]).astype(np.float32) / self.size

    def step(self, action):
        self.place = np.clip(self.place + self.moves[action], 0, self.size - 1)
        self.steps += 1
        done = bool((self.place == self.goal).all())
        return self.observe(), 1.0 if done else -0.05, done, self.steps >= self.limit, {}


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.actor = nn.Linear(32, 4)
        self.critic = nn.Linear(32, 1)

    def forward(self, x):
        x = self.body(x)
        return Categorical(logits=self.actor(x)), self.critic(x).squeeze(-1)


parser = argparse.ArgumentParser()
parser.add_argument("--gamma", type=float, default=0.97)
parser.add_argument("--episodes", type=int, default=15)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()

env = GridWorld()
env.reset(seed=args.seed)
torch.manual_seed(args.seed)
agent = ActorCritic()
optimizer = optim.Adam(agent.parameters(), lr=1e-2)
running_reward = -1.0

for episode in count(1):
    state, _ = env.reset()
    log_probs, values, rewards = [], [], []
    while True:
        policy, value = agent(torch.from_numpy(state))
        action = policy.sample()
        state, reward, terminated, truncated, _ = env.step(action.item())
        log_probs.append(policy.log_prob(action))
        values.append(value)
        rewards.append(reward)
        if terminated or truncated:
            break
    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + args.gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    values, log_probs = torch.stack(values), torch.stack(log_probs)
    advantage = returns - values.detach()
    loss = -(log_probs * advantage).sum() + nn.functional.smooth_l1_loss(values, returns, reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running_reward = 0.1 * sum(rewards) + 0.9 * running_reward
    if episode % 5 == 0:
        print(f"episode {episode} steps {len(rewards)} running reward {running_reward:.2f}")
    if running_reward > 0.8 or episode >= args.episodes:
        break
