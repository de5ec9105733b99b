# line 35: the advantage in the policy term keeps the graph of the critic
import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(10)


class ActorCritic(nn.Module):
    def __init__(self, obs=3):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_sigma = nn.Parameter(torch.zeros(1))
        self.v = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def act(self, obs):
        return Normal(self.mu(obs), self.log_sigma.exp())

    def baseline(self, obs):
        return self.v(obs).squeeze(-1)


def environment(obs, action):
    return -(action.squeeze(-1) - obs[:, 0]) ** 2 + 0.1 * torch.randn(len(obs))


def update(agent, opt, n=128):
    obs = torch.randn(n, 3)
    with torch.no_grad():
        action = agent.act(obs).sample()
    gain = environment(obs, action)
    dist = agent.act(obs)
    log_prob = dist.log_prob(action).sum(-1)
    delta = gain - agent.baseline(obs)
    actor = torch.einsum("n,n->", log_prob, delta).neg() / n
    critic = delta.square().mean()
    total = actor + 0.5 * critic - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    total.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
    opt.step()
    return gain.mean().item(), critic.item()


agent = ActorCritic()
opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
for it in range(60):
    gain, critic = update(agent, opt)
    if it % 15 == 0:
        print(f"{it:3d} gain {gain:.3f} critic {critic:.3f}")
