from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

Transition = namedtuple("Transition", "s a logp r done s_next")


class Corridor:
    """walk to the right end, a wrong step costs, starts at a random place"""

    def __init__(self, length=9, horizon=40, seed=0):
        self.length, self.horizon = length, horizon
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = int(self.rng.integers(0, self.length - 1))
        self.t = 0
        return self.observe()

    def observe(self):
        return np.array([self.pos / self.length, self.t / self.horizon, 1.0], dtype=np.float32)

    def step(self, action):
        slip = self.rng.random() < 0.1
        move = 1 if (action == 1) != slip else -1
        self.pos = max(0, self.pos + move)
        self.t += 1
        goal = self.pos >= self.length - 1
        reward = 1.0 if goal else -0.02
        return self.observe(), reward, goal or self.t >= self.horizon


class ActorCritic(nn.Module):
    def __init__(self, obs, actions, hidden=32):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, actions))
        self.baseline = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, s):
        return Categorical(logits=self.policy(s)), self.baseline(s).squeeze(-1)


class PPOAgent:
    def __init__(self, net, discount=0.97, lam=0.95, clip=0.2, epochs=4, batch_size=64, unroll=256):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=5e-3)
        self.discount, self.lam, self.clip = discount, lam, clip
        self.epochs, self.batch_size, self.unroll = epochs, batch_size, unroll
        self.storage = []

    @torch.no_grad()
    def act(self, s):
        dist, _ = self.net(torch.from_numpy(s)[None])
        a = dist.sample()
        return a.item(), dist.log_prob(a).item()

    @torch.no_grad()
    def returns_and_advantages(self, s, s_next, r, done):
        _, v = self.net(s)
        _, v_next = self.net(s_next)
        delta = r + self.discount * v_next * (1 - done) - v
        adv, last = torch.zeros_like(r), 0.0
        for t in reversed(range(len(r))):
            last = delta[t] + self.discount * self.lam * (1 - done[t]) * last
            adv[t] = last
        return adv + v, adv

    def learn(self):
        batch = Transition(*zip(*self.storage))
        s, s_next = torch.from_numpy(np.stack(batch.s)), torch.from_numpy(np.stack(batch.s_next))
        a, logp_old = torch.tensor(batch.a), torch.tensor(batch.logp)
        r, done = torch.tensor(batch.r), torch.tensor(batch.done, dtype=torch.float32)

        returns, adv = self.returns_and_advantages(s, s_next, r, done)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        stats = []
        for _ in range(self.epochs):
            for idx in torch.randperm(len(a)).split(self.batch_size):
                dist, v = self.net(s[idx])
                ratio = (dist.log_prob(a[idx]) - logp_old[idx]).exp()
                surrogate = torch.min(ratio * adv[idx], ratio.clamp(1 - self.clip, 1 + self.clip) * adv[idx])
                value_loss = 0.5 * (returns[idx] - v).pow(2).mean()
                loss = -surrogate.mean() + 0.5 * value_loss - 0.01 * dist.entropy().mean()
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
                self.opt.step()
                stats.append((loss.item(), value_loss.item()))
        self.storage.clear()
        return np.mean(stats, axis=0)


def main():
    torch.manual_seed(0)
    env = Corridor()
    agent = PPOAgent(ActorCritic(3, 2))
    s, score, scores = env.reset(), 0.0, []
    for step in range(1, 256 * 12 + 1):
        a, logp = agent.act(s)
        s_next, r, done = env.step(a)
        agent.storage.append(Transition(s, a, logp, r, done, s_next))
        score += r
        s = s_next
        if done:
            scores.append(score)
            s, score = env.reset(), 0.0
        if len(agent.storage) == agent.unroll:
            loss, value_loss = agent.learn()
            print("step %5d  score %.3f  loss %.4f  value %.4f" % (step, np.mean(scores[-20:]), loss, value_loss))


if __name__ == "__main__":
    main()
