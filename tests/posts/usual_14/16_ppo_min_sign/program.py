"""Minimal PPO on a vectorised cart-pole written in torch (no gym needed)."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

GAMMA, LAM, CLIP, EPOCHS, MINIBATCH = 0.99, 0.95, 0.2, 12, 256


class CartPole:
    def __init__(self, n_envs):
        self.n = n_envs
        self.state = torch.empty(n_envs, 4).uniform_(-0.05, 0.05)
        self.steps = torch.zeros(n_envs)

    def step(self, action):
        x, xd, th, thd = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        cos, sin = th.cos(), th.sin()
        temp = (force + 0.05 * thd ** 2 * sin) / 1.1
        acc = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        xacc = temp - 0.05 * acc * cos / 1.1
        self.state = torch.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * acc], 1)
        self.steps += 1
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 0.2095) | (self.steps >= 200)
        lengths = self.steps[done].tolist()
        fresh = torch.empty(self.n, 4).uniform_(-0.05, 0.05)
        self.state = torch.where(done[:, None], fresh, self.state)
        self.steps = torch.where(done, 0.0, self.steps)
        return self.state, torch.ones(self.n), done.float(), lengths


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, s):
        return Categorical(logits=self.actor(s)), self.critic(s).squeeze(-1)


def rollout(env, net, horizon=64):
    buf = {k: [] for k in ("s", "a", "logp", "v", "r", "d")}
    lengths = []
    s = env.state
    for _ in range(horizon):
        with torch.no_grad():
            dist, v = net(s)
            a = dist.sample()
        nxt, r, d, ended = env.step(a)
        for k, val in zip(buf, (s, a, dist.log_prob(a), v, r, d)):
            buf[k].append(val)
        lengths += ended
        s = nxt
    buf = {k: torch.stack(v) for k, v in buf.items()}
    with torch.no_grad():
        last = net(s)[1]
    adv, gae = torch.zeros_like(buf["r"]), torch.zeros(env.n)
    for t in reversed(range(horizon)):
        alive = 1 - buf["d"][t]
        nxt_v = last if t == horizon - 1 else buf["v"][t + 1]
        gae = buf["r"][t] + GAMMA * nxt_v * alive - buf["v"][t] + GAMMA * LAM * alive * gae
        adv[t] = gae
    ret = adv + buf["v"]
    flat = [x.flatten(0, 1) for x in (buf["s"], buf["a"], buf["logp"], adv, ret)]
    return flat, lengths


def update(net, opt, data):
    states, actions, old_logp, adv, ret = data
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(EPOCHS):
        for idx in torch.randperm(len(states)).split(MINIBATCH):
            dist, value = net(states[idx])
            ratio = (dist.log_prob(actions[idx]) - old_logp[idx]).exp()
            surr1 = -ratio * adv[idx]
            surr2 = -ratio.clamp(1 - CLIP, 1 + CLIP) * adv[idx]
            policy_loss = torch.min(surr1, surr2).mean()
            value_loss = 0.5 * (value - ret[idx]).pow(2).mean()
            loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
    with torch.no_grad():
        return (old_logp - net(states)[0].log_prob(actions)).mean().item()


torch.manual_seed(1)
env, net = CartPole(32), ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(1, 31):
    data, lengths = rollout(env, net)
    kl = update(net, opt, data)
    if it % 5 == 0:
        mean_len = sum(lengths) / max(len(lengths), 1)
        print(f"iter {it:2d}  episode length {mean_len:6.1f}  approx kl {kl:.4f}")
