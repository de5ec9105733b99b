import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Beta

torch.manual_seed(0)


class BetaPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, 64), nn.Tanh())
        self.alpha = nn.Linear(64, act_dim)
        self.beta = nn.Linear(64, act_dim)

    def dist(self, obs):
        h = self.body(obs)
        return Beta(F.softplus(self.alpha(h)) + 1.0, F.softplus(self.beta(h)) + 1.0)


class PointEnv:
    """Action in [-1, 1] moves a point; reward is the closeness to a goal."""

    low, high = -1.0, 1.0

    def batch(self, n):
        return torch.empty(n, 2).uniform_(-1, 1)

    def reward(self, obs, action):
        return -((action - 0.5 * obs.sum(1, keepdim=True)) ** 2).sum(1)


env = PointEnv()
policy = BetaPolicy(2, 1)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

for it in range(30):
    obs = env.batch(128)
    with torch.no_grad():
        raw = policy.dist(obs).sample()
        actions = env.low + (env.high - env.low) * raw
    rewards = env.reward(obs, actions)
    advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-8)

    dist = policy.dist(obs)
    log_prob = dist.log_prob(actions).sum(1)
    loss = -(log_prob * advantage).mean() - 1e-3 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it} mean reward {rewards.mean().item():.4f}")
