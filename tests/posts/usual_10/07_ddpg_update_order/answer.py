import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class PointMass:
    """1-D point mass pushed towards the origin."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-1, 1, 2)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, v = self.s
        v = 0.95 * v + 0.1 * float(np.clip(a, -1, 1))
        x = x + 0.1 * v
        self.s = np.array([x, v])
        self.t += 1
        return self.s.astype(np.float32), -(x * x + 0.1 * v * v), self.t >= 50


def mlp(sizes, out=nn.Identity):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers += [nn.Linear(a, b), nn.ReLU() if i < len(sizes) - 2 else out()]
    return nn.Sequential(*layers)


class DDPGAgent:
    def __init__(self, obs_dim, act_dim, gamma=0.98, tau=0.01):
        self.actor = mlp([obs_dim, 64, 64, act_dim], nn.Tanh)
        self.critic = mlp([obs_dim + act_dim, 64, 64, 1])
        self.actor_t = copy.deepcopy(self.actor)
        self.critic_t = copy.deepcopy(self.critic)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.gamma, self.tau = gamma, tau

    def q(self, net, s, a):
        return net(torch.cat([s, a], dim=1))

    @torch.no_grad()
    def act(self, s, noise=0.2):
        a = self.actor(torch.as_tensor(s).unsqueeze(0)).squeeze(0).numpy()
        return np.clip(a + noise * np.random.randn(*a.shape), -1, 1).astype(np.float32)

    def update(self, s, a, r, s2):
        with torch.no_grad():
            y = r + self.gamma * self.q(self.critic_t, s2, self.actor_t(s2))
        critic_loss = F.mse_loss(self.q(self.critic, s, a), y)

        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        actor_loss = -self.q(self.critic, s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        with torch.no_grad():
            for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, pt in zip(net.parameters(), tgt.parameters()):
                    pt.lerp_(p, self.tau)
        return critic_loss.item(), actor_loss.item()


def sample(buffer, n):
    s, a, r, s2 = zip(*random.sample(buffer, n))
    return (torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(a)),
            torch.tensor(r, dtype=torch.float32).unsqueeze(1), torch.from_numpy(np.stack(s2)))


if __name__ == "__main__":
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    env, agent, buffer = PointMass(), DDPGAgent(2, 1), deque(maxlen=10000)
    for ep in range(12):
        s, ret, done = env.reset(), 0.0, False
        while not done:
            a = agent.act(s)
            s2, r, done = env.step(a[0])
            buffer.append((s, a, r, s2))
            s, ret = s2, ret + r
            if len(buffer) >= 128:
                cl, al = agent.update(*sample(buffer, 64))
        if len(buffer) >= 128 and ep % 3 == 0:
            print(f"ep {ep} return {ret:.2f} critic {cl:.4f} actor {al:.3f}")
