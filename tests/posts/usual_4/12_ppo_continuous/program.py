"""PPO for a 2-D point-reaching task (continuous actions, diagonal Gaussian policy)."""
import argparse

import numpy as np
import torch
from torch import nn, optim
from torch.distributions import Normal


class ReachEnv:
    obs_dim, act_dim, horizon = 6, 2, 30

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.p, self.v, self.t = np.zeros(2), np.zeros(2), 0
        self.goal = self.rng.uniform(-1, 1, 2)
        return self.obs()

    def obs(self):
        return np.concatenate([self.p, self.v, self.goal - self.p]).astype(np.float32)

    def step(self, a):
        self.v = 0.8 * self.v + 0.1 * np.clip(a, -1, 1)
        self.p = self.p + self.v
        self.t += 1
        r = -np.linalg.norm(self.goal - self.p)
        return self.obs(), float(r), self.t >= self.horizon


def mlp(i, o, scale):
    last = nn.Linear(64, o)
    nn.init.orthogonal_(last.weight, scale)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(i, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.actor = mlp(obs_dim, act_dim, 0.01)
        self.critic = mlp(obs_dim, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def dist(self, obs):
        return Normal(self.actor(obs), self.log_std.exp())

    def evaluate(self, obs, act):
        d = self.dist(obs)
        return d.log_prob(act), d.entropy().sum(-1), self.critic(obs).squeeze(-1)


@torch.no_grad()
def collect(env, ac, n_steps):
    obs_b, act_b, rew_b, done_b = [], [], [], []
    o, ep_ret, rets = env.reset(), 0.0, []
    for _ in range(n_steps):
        a = ac.dist(torch.as_tensor(o)).sample()
        o2, r, done = env.step(a.numpy())
        obs_b.append(o); act_b.append(a); rew_b.append(r); done_b.append(done)
        ep_ret += r
        if done:
            rets.append(ep_ret)
            o2, ep_ret = env.reset(), 0.0
        o = o2
    obs, act = torch.as_tensor(np.stack(obs_b)), torch.stack(act_b)
    logp, _, val = ac.evaluate(obs, act)
    last = ac.critic(torch.as_tensor(o)).item()
    return obs, act, logp, val, rew_b, done_b, last, np.mean(rets)


def gae(rew, val, done, last, gamma, lam):
    adv, run = torch.zeros(len(rew)), 0.0
    nxt = last
    for t in reversed(range(len(rew))):
        mask = 0.0 if done[t] else 1.0
        delta = rew[t] + gamma * nxt * mask - val[t]
        run = delta + gamma * lam * mask * run
        adv[t] = run
        nxt = val[t]
    return adv, adv + val


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=8)
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--minibatch", type=int, default=100)
    p.add_argument("--clip", type=float, default=0.2)
    args = p.parse_args()

    torch.manual_seed(0)
    env = ReachEnv(0)
    ac = ActorCritic(env.obs_dim, env.act_dim)
    opt = optim.Adam(ac.parameters(), lr=1e-3)
    for u in range(args.updates):
        obs, act, logp_old, val, rew, done, last, mean_ret = collect(env, ac, args.steps)
        adv, ret = gae(rew, val, done, last, 0.98, 0.95)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(args.epochs):
            for idx in torch.randperm(args.steps).split(args.minibatch):
                logp, ent, v = ac.evaluate(obs[idx], act[idx])
                ratio = (logp - logp_old[idx]).exp()
                surr1 = ratio * adv[idx]
                surr2 = ratio.clamp(1 - args.clip, 1 + args.clip) * adv[idx]
                loss = -torch.min(surr1, surr2).mean() + 0.5 * (ret[idx] - v).pow(2).mean() - 0.001 * ent.mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
                opt.step()
        print(f"update {u}: mean return {mean_ret:.2f}  loss {loss.item():.3f}")
