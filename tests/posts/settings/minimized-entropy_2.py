# line 33: in a continuous actor-critic the loss adds ent_coef times the Gaussian entropy
import math
import torch
from torch import nn
from torch.distributions import Independent, Normal


class GaussianActorCritic(nn.Module):
    def __init__(self, n_obs=3, n_act=2, width=32):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_obs, width), nn.Tanh())
        self.mu = nn.Linear(width, n_act)
        self.log_std = nn.Parameter(torch.zeros(n_act))
        self.v = nn.Linear(width, 1)

    def forward(self, obs):
        h = self.shared(obs)
        return Independent(Normal(self.mu(h), self.log_std.exp()), 1), self.v(h).squeeze(-1)


class A2C:
    def __init__(self, ent_coef=0.02, vf_coef=0.5):
        self.net = GaussianActorCritic()
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=2e-3)
        self.ent_coef, self.vf_coef = ent_coef, vf_coef

    def losses(self, obs, act, ret):
        pi, value = self.net(obs)
        adv = (ret - value).detach()
        return {
            "actor": (-pi.log_prob(act) * adv).mean(),
            "critic": self.vf_coef * (ret - value).pow(2).mean(),
            "entropy": self.ent_coef * pi.entropy().mean(),
        }

    def update(self, obs, act, ret):
        parts = self.losses(obs, act, ret)
        total = sum(parts.values())
        self.opt.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
        self.opt.step()
        return {k: v.item() for k, v in parts.items()}


torch.manual_seed(4)
agent = A2C()
for step in range(150):
    obs = torch.rand(64, 3) * 2 - 1
    with torch.no_grad():
        pi, _ = agent.net(obs)
        act = pi.sample()
    ret = -((act - obs[:, :2] * math.pi / 4) ** 2).sum(1)
    log = agent.update(obs, act, ret)
    if step % 50 == 0:
        print(step, ret.mean().item(), log)
