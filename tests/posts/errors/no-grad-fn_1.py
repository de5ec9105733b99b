# line 39: the policy's log probability is computed inside the no_grad of the episode, so the loss has no graph; mended by: acting with gradients, without the no_grad
import math

import torch
import torch.nn as nn
from torch.distributions import Categorical


class Bandwalk:
    """A corridor with the reward on the right end."""

    def __init__(self, n=8):
        self.n = n

    def reset(self):
        self.x, self.t = self.n // 2, 0
        return self.obs()

    def obs(self):
        o = torch.zeros(self.n)
        o[self.x] = 1.0
        return o

    def step(self, a):
        self.x = max(0, min(self.n - 1, self.x + (1 if a == 1 else -1)))
        self.t += 1
        done = self.x in (0, self.n - 1) or self.t >= 30
        return self.obs(), 1.0 if self.x == self.n - 1 else -0.01, done


class Actor(nn.Module):
    def __init__(self, n_obs, n_act=2):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(n_obs, 16), nn.ReLU(), nn.Linear(16, n_act))
        self.saved_log_probs = []
        self.rewards = []

    def select_action(self, obs):
        with torch.no_grad():
            logits = self.fc(obs)
        dist = Categorical(logits=logits)
        a = dist.sample()
        self.saved_log_probs.append(dist.log_prob(a))
        return a.item()


def finish_episode(actor, optimizer, gamma=0.98):
    R, returns = 0.0, []
    for r in reversed(actor.rewards):
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = returns - returns.mean()
    loss = torch.stack([-lp * G for lp, G in zip(actor.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = sum(actor.rewards)
    del actor.rewards[:]
    del actor.saved_log_probs[:]
    return total


torch.manual_seed(0)
env = Bandwalk()
actor = Actor(env.n)
optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)
running = 0.0
for ep in range(20):
    obs, done = env.reset(), False
    while not done:
        obs, reward, done = env.step(actor.select_action(obs))
        actor.rewards.append(reward)
    running = 0.9 * running + 0.1 * finish_episode(actor, optimizer)
print("running reward %.3f" % running)
