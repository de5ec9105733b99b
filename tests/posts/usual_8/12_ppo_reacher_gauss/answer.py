import math
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(5)


class PointReacher:
    """n points move at once in the plane towards their own goals (vectorised environment)."""

    def __init__(self, n_envs: int, max_steps: int = 32):
        self.n, self.max_steps = n_envs, max_steps

    def reset(self) -> torch.Tensor:
        self.pos = torch.rand(self.n, 2) * 2 - 1
        self.goal = torch.rand(self.n, 2) * 2 - 1
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.cat([self.pos, self.goal - self.pos], dim=1)

    def step(self, action):
        self.pos = (self.pos + 0.15 * action.clamp(-1, 1)).clamp(-1.5, 1.5)
        dist = (self.pos - self.goal).norm(dim=1)
        self.t += 1
        return self.obs(), -dist, self.t == self.max_steps


class ActorCritic(nn.Module):
    def __init__(self, obs_dim: int, act_dim: int, hidden: int = 64, init_std: float = 0.6):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                nn.Linear(hidden, act_dim))
        self.v = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                               nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.full((act_dim,), math.log(init_std)))

    def dist(self, obs):
        mean = self.pi(obs)
        return Normal(mean, self.log_std.exp().expand_as(mean))

    def value(self, obs):
        return self.v(obs).squeeze(-1)


@torch.no_grad()
def collect(env, ac):
    obs_l, act_l, logp_l, rew_l, val_l = [], [], [], [], []
    obs, done = env.reset(), False
    while not done:
        d = ac.dist(obs)
        act = d.sample()
        obs_l.append(obs)
        act_l.append(act)
        logp_l.append(d.log_prob(act).sum(-1))
        val_l.append(ac.value(obs))
        obs, rew, done = env.step(act)
        rew_l.append(rew)
    last_val = ac.value(obs)
    return [torch.stack(x) for x in (obs_l, act_l, logp_l, rew_l, val_l)] + [last_val]


def gae(rew, val, last_val, gamma=0.97, lam=0.95):
    adv = torch.zeros_like(rew)
    running = torch.zeros_like(last_val)
    nxt = last_val
    for t in reversed(range(rew.size(0))):
        delta = rew[t] + gamma * nxt - val[t]
        running = delta + gamma * lam * running
        adv[t] = running
        nxt = val[t]
    return adv, adv + val


def ppo_update(ac, opt, obs, act, logp_old, adv, ret, clip=0.2, epochs=4, minibatch=256):
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    n = obs.size(0)
    for _ in range(epochs):
        for idx in torch.randperm(n).split(minibatch):
            d = ac.dist(obs[idx])
            ratio = (d.log_prob(act[idx]).sum(-1) - logp_old[idx]).exp()
            a = adv[idx]
            pi_loss = -torch.min(ratio * a, ratio.clamp(1 - clip, 1 + clip) * a).mean()
            v_loss = (ac.value(obs[idx]) - ret[idx]).pow(2).mean()
            loss = pi_loss + 0.5 * v_loss - 0.001 * d.entropy().sum(-1).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
            opt.step()


env = PointReacher(n_envs=32)
ac = ActorCritic(4, 2)
opt = torch.optim.Adam(ac.parameters(), lr=3e-3)
for it in range(20):
    obs, act, logp, rew, val, last_val = collect(env, ac)
    adv, ret = gae(rew, val, last_val)
    ppo_update(ac, opt, *(x.flatten(0, 1) for x in (obs, act, logp, adv, ret)))
    if it % 5 == 0 or it == 19:
        print(f"iter {it:2d}  mean return {rew.sum(0).mean().item():.2f}")
