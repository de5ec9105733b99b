import torch
import torch.nn as nn
from torch.distributions import Normal


class Model(nn.Module):
    def __init__(self, n_obs=5, n_act=2, gamma=0.99, lam=0.95, clip=0.2):
        super().__init__()
        self.gamma, self.lam, self.clip = gamma, lam, clip
        self.actor = nn.Sequential(nn.Linear(n_obs, 16), nn.Tanh(), nn.Linear(16, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.zeros(1, n_act))

    def gae(self, reward, value, done, last_value):
        steps = reward.size(0)
        adv = torch.zeros_like(reward)
        running = torch.zeros_like(last_value)
        for t in reversed(range(steps)):
            nxt = last_value if t == steps - 1 else value[t + 1]
            alive = 1.0 - done[t]
            delta = reward[t] + self.gamma * nxt * alive - value[t]
            running = delta + self.gamma * self.lam * alive * running
            adv[t] = running
        return adv

    def forward(self, obs, action, reward, done, last_obs, old_logp):
        value = self.critic(obs).squeeze(-1)
        with torch.no_grad():
            last_value = self.critic(last_obs).squeeze(-1)
            adv = self.gae(reward, value, done, last_value)
            returns = (adv + value).flatten()
            adv = adv.flatten()
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        mean = self.actor(obs.flatten(0, 1))
        dist = Normal(mean, self.log_std.exp().expand_as(mean))
        logp = dist.log_prob(action.flatten(0, 1)).sum(-1)
        ratio = (logp - old_logp.flatten()).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
        loss = -torch.min(ratio * adv, clipped * adv).mean()
        return adv, returns, loss


def example_inputs():
    T, N = 8, 5
    obs, act = torch.randn(T, N, 5), torch.randn(T, N, 2)
    return obs, act, torch.randn(T, N), torch.zeros(T, N), torch.randn(N, 5), torch.randn(T, N)
