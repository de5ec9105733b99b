import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

GAMMA = 0.97


class Corridor:
    """Walk to the beacon on a line; the beacon's side is part of the observation."""

    def __init__(self, rng, length=7, max_steps=24):
        self.rng, self.length, self.max_steps = rng, length, max_steps

    def reset(self):
        self.pos, self.t = self.length // 2, 0
        self.side = int(self.rng.integers(2))
        return self._obs()

    def _obs(self):
        return np.array([self.pos / (self.length - 1) - 0.5, 2.0 * self.side - 1, 1.0], dtype=np.float32)

    def step(self, action):
        move = (-1, 1, 0)[action]
        self.pos = int(np.clip(self.pos + move, 0, self.length - 1))
        self.t += 1
        goal = (self.length - 1) * self.side
        done = self.pos in (0, self.length - 1) or self.t >= self.max_steps
        reward = 1.0 if self.pos == goal else -0.02
        return self._obs(), reward, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))

    def act(self, obs):
        dist = self(torch.from_numpy(obs))
        action = dist.sample().item()
        log_prob = dist.log_prob(dist.sample())
        return action, log_prob, dist.entropy()


def discounted(rewards):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        out.append(g)
    return torch.tensor(out[::-1])


def run_episode(env, policy):
    obs, done = env.reset(), False
    log_probs, entropies, rewards = [], [], []
    while not done:
        action, lp, ent = policy.act(obs)
        obs, reward, done = env.step(action)
        log_probs.append(lp)
        entropies.append(ent)
        rewards.append(reward)
    return torch.stack(log_probs), torch.stack(entropies), rewards


torch.manual_seed(0)
env = Corridor(np.random.default_rng(0))
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
history = []
for update in range(80):
    terms, rets = [], []
    for _ in range(8):
        log_probs, entropies, rewards = run_episode(env, policy)
        returns = discounted(rewards)
        terms.append((log_probs, entropies, returns))
        rets.append(sum(rewards))
    all_returns = torch.cat([t[2] for t in terms])
    mean, std = all_returns.mean(), all_returns.std() + 1e-6
    loss = 0.0
    for log_probs, entropies, returns in terms:
        loss = loss - (log_probs * (returns - mean) / std).sum() / 8 - 0.01 * entropies.mean() / 8
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(np.mean(rets))
    if update % 10 == 9:
        print(f"update {update + 1}: mean return {np.mean(history[-10:]):.3f}  loss {loss.item():.3f}")
