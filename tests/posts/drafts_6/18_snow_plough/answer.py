"""REINFORCE for a snow plough on a 5 x 5 car park."""
import random

import torch
import torch.nn as nn
from torch.distributions import Categorical

GRID = 5
MOVES = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}
GAMMA = 0.97
random.seed(1)
torch.manual_seed(1)


class CarPark:
    def __init__(self, max_steps=30):
        self.max_steps = max_steps

    def reset(self):
        self.row = self.col = 0
        self.steps = 0
        self.snow = torch.zeros(GRID, GRID)
        for cell in random.sample(range(1, GRID * GRID), 6):
            self.snow[cell // GRID, cell % GRID] = 1.0
        return self.state()

    def state(self):
        here = torch.zeros(GRID, GRID)
        here[self.row, self.col] = 1.0
        return torch.cat([here.flatten(), self.snow.flatten()])

    def step(self, action):
        dr, dc = MOVES[action]
        self.row = min(max(self.row + dr, 0), GRID - 1)
        self.col = min(max(self.col + dc, 0), GRID - 1)
        self.steps += 1
        reward = -0.05
        if self.snow[self.row, self.col] > 0:
            self.snow[self.row, self.col] = 0.0
            reward = 1.0
        done = self.snow.sum().item() == 0 or self.steps >= self.max_steps
        return self.state(), reward, done


class Policy(nn.Module):
    def __init__(self, n_state=2 * GRID * GRID, hidden=64, n_actions=len(MOVES)):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_state, hidden),
            nn.Tanh(),
            nn.Linear(hidden, n_actions),
        )

    def forward(self, state):
        return Categorical(logits=self.net(state))


def discounted(rewards):
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    return (returns - returns.mean()) / (returns.std() + 1e-8)


def play(env, policy):
    state = env.reset()
    log_probs, rewards = [], []
    done = False
    while not done:
        dist = policy(state)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
    return log_probs, rewards


def update(optimizer, log_probs, rewards):
    log_probs = torch.stack(log_probs)
    loss = -(log_probs * discounted(rewards)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


env = CarPark()
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

recent = []
for episode in range(1, 251):
    log_probs, rewards = play(env, policy)
    update(optimizer, log_probs, rewards)
    recent.append(sum(rewards))
    if episode % 50 == 0:
        print(f"episode {episode}: mean return of the last 50: {sum(recent[-50:]) / 50:.2f}")
