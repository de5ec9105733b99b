# line 35: torch.clamp on a line of its own: the ratio of PPO is not clipped
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, obs, acts):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, acts))

    def forward(self, s):
        return Categorical(logits=self.layers(s))


class PPO:
    def __init__(self, obs=4, acts=3, clip=0.2, lr=5e-3):
        self.pi = Actor(obs, acts)
        self.opt = torch.optim.Adam(self.pi.parameters(), lr=lr)
        self.clip = clip

    def collect(self, n):
        s = torch.randn(n, 4)
        with torch.no_grad():
            dist = self.pi(s)
            a = dist.sample()
            old = dist.log_prob(a)
        reward = (a == s[:, :3].argmax(1)).float()
        adv = (reward - reward.mean()) / (reward.std() + 1e-8)
        return s, a, old, adv, reward.mean().item()

    def surrogate(self, s, a, old, adv):
        ratio = torch.exp(self.pi(s).log_prob(a) - old)
        clipped = ratio.clone()
        torch.clamp(clipped, 1 - self.clip, 1 + self.clip)
        return -torch.min(ratio * adv, clipped * adv).mean()

    def learn(self, rounds=15, inner=4):
        for r in range(rounds):
            s, a, old, adv, score = self.collect(256)
            for _ in range(inner):
                loss = self.surrogate(s, a, old, adv)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            if r % 5 == 0:
                print(r, "mean reward", score)


torch.manual_seed(0)
PPO().learn()
