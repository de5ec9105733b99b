"""Soft actor-critic on a damped cart that must stop at the origin (environment written here)."""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class CartDamper:
    def __init__(self, seed=0, horizon=50):
        self.rng = np.random.default_rng(seed)
        self.horizon = horizon

    def reset(self):
        self.s = self.rng.uniform(-1, 1, size=2)
        self.t = 0
        return self.s.copy()

    def step(self, a):
        pos, vel = self.s
        vel = vel + 0.1 * (2.0 * float(a[0]) - 0.4 * vel)
        pos = pos + 0.1 * vel
        self.s = np.array([pos, vel])
        self.t += 1
        reward = -(pos ** 2 + 0.1 * vel ** 2 + 0.01 * float(a[0]) ** 2)
        return self.s.copy(), reward, abs(pos) > 3.0, self.t >= self.horizon


class ReplayBuffer:
    def __init__(self, obs_dim, act_dim, capacity=20000):
        self.obs = np.zeros((capacity, obs_dim))
        self.next_obs = np.zeros((capacity, obs_dim))
        self.act = np.zeros((capacity, act_dim))
        self.rew = np.zeros((capacity, 1))
        self.done = np.zeros((capacity, 1))
        self.ptr, self.size, self.capacity = 0, 0, capacity

    def store(self, o, a, r, o2, d):
        self.obs[self.ptr], self.act[self.ptr] = o, a
        self.rew[self.ptr], self.next_obs[self.ptr], self.done[self.ptr] = r, o2, d
        self.ptr = (self.ptr + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, n):
        idx = np.random.randint(0, self.size, n)
        batch = (self.obs, self.act, self.rew, self.next_obs, self.done)
        return [torch.as_tensor(x[idx]) for x in batch]


def mlp(sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class SquashedActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=64):
        super().__init__()
        self.body = mlp([obs_dim, hidden, hidden, 2 * act_dim])

    def forward(self, obs):
        mu, log_std = self.body(obs).chunk(2, dim=-1)
        dist = torch.distributions.Normal(mu, log_std.clamp(-5, 2).exp())
        u = dist.rsample()
        logp = dist.log_prob(u) - 2 * (np.log(2) - u - F.softplus(-2 * u))
        return torch.tanh(u), logp.sum(-1, keepdim=True)


class TwinQ(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=64):
        super().__init__()
        self.q1 = mlp([obs_dim + act_dim, hidden, hidden, 1])
        self.q2 = mlp([obs_dim + act_dim, hidden, hidden, 1])

    def forward(self, obs, act):
        x = torch.cat([obs, act], dim=-1)
        return self.q1(x), self.q2(x)


np.random.seed(0)
torch.manual_seed(0)
GAMMA, TAU, ALPHA, BATCH, WARMUP = 0.98, 0.01, 0.05, 64, 200

env = CartDamper()
actor, critic = SquashedActor(2, 1), TwinQ(2, 1)
target = copy.deepcopy(critic).requires_grad_(False)
opt_pi = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_q = torch.optim.Adam(critic.parameters(), lr=1e-3)
buffer = ReplayBuffer(2, 1)


def update():
    o, a, r, o2, d = buffer.sample(BATCH)
    with torch.no_grad():
        a2, logp2 = actor(o2)
        y = r + GAMMA * (1 - d) * (torch.min(*target(o2, a2)) - ALPHA * logp2)
    q1, q2 = critic(o, a)
    opt_q.zero_grad()
    (F.mse_loss(q1, y) + F.mse_loss(q2, y)).backward()
    opt_q.step()

    a_new, logp = actor(o)
    loss_pi = (ALPHA * logp - torch.min(*critic(o, a_new))).mean()
    opt_pi.zero_grad()
    loss_pi.backward()
    opt_pi.step()
    with torch.no_grad():
        for p, tp in zip(critic.parameters(), target.parameters()):
            tp.lerp_(p, TAU)


obs, ep_ret, returns = env.reset(), 0.0, []
for step in range(1, 1501):
    if step <= WARMUP:
        act = np.random.uniform(-1, 1, size=1)
    else:
        with torch.no_grad():
            act = actor(torch.as_tensor(obs, dtype=torch.float32)[None])[0][0].numpy()
    nxt, rew, done, timeout = env.step(act)
    buffer.store(obs, act, rew, nxt, done)
    obs, ep_ret = nxt, ep_ret + rew
    if done or timeout:
        returns.append(ep_ret)
        obs, ep_ret = env.reset(), 0.0
    if step > WARMUP:
        update()
print("first 5 returns %.2f, last 5 %.2f" % (np.mean(returns[:5]), np.mean(returns[-5:])))
