from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


@dataclass
class Config:
    size: int = 5
    max_steps: int = 30
    episodes: int = 60
    gamma: float = 0.97
    lr: float = 5e-3
    value_coef: float = 0.5
    seed: int = 0


class GridWorld:
    """Walk from a random cell to the corner, -0.05 per step and +1 at the goal."""

    moves = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self, size, max_steps, seed):
        self.size, self.max_steps = size, max_steps
        self.rng = np.random.default_rng(seed)

    def _obs(self):
        return (self.pos / (self.size - 1)).astype(np.float32)

    def reset(self):
        self.pos = self.rng.integers(0, self.size - 1, size=2)
        self.t = 0
        return self._obs()

    def step(self, action):
        self.pos = np.clip(self.pos + np.array(self.moves[action]), 0, self.size - 1)
        self.t += 1
        goal = bool((self.pos == self.size - 1).all())
        return self._obs(), 1.0 if goal else -0.05, goal or self.t >= self.max_steps


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=2, n_actions=4, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.policy = nn.Linear(hidden, n_actions)
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.policy(h)), self.value(h)


def run_episode(env, model):
    log_probs, values, rewards = [], [], []
    obs, done = env.reset(), False
    while not done:
        dist, value = model(obs)
        action = dist.sample()
        log_probs.append(dist.log_prob(action).item())
        values.append(value)
        obs, reward, done = env.step(action.item())
        rewards.append(reward)
    return torch.stack(log_probs), torch.stack(values), rewards


def discount(rewards, gamma):
    returns, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        returns.insert(0, running)
    return torch.tensor(returns)


def train(cfg):
    torch.manual_seed(cfg.seed)
    env = GridWorld(cfg.size, cfg.max_steps, cfg.seed)
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    history = []
    for episode in range(cfg.episodes):
        log_probs, values, rewards = run_episode(env, model)
        returns = discount(rewards, cfg.gamma)
        advantage = returns - values
        policy_loss = -(log_probs * advantage.detach()).sum()
        value_loss = advantage.pow(2).sum()
        loss = policy_loss + cfg.value_coef * value_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(sum(rewards))
        if (episode + 1) % 20 == 0:
            print(f"episode {episode + 1}: mean reward {np.mean(history[-20:]):.3f}")


if __name__ == "__main__":
    train(Config())
