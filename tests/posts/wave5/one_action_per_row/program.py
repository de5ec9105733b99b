import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, n_obs=6, n_actions=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh())
        self.pi = nn.Linear(32, n_actions)

    def forward(self, obs):
        return torch.log_softmax(self.pi(self.body(obs)), dim=-1)


def play(obs, actions):
    best = obs[:, :4].argmax(1)
    return (actions == best).float()


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)

for update in range(60):
    obs = torch.randn(64, 6)
    logp = policy(obs)
    actions = Categorical(logits=logp.detach()).sample()
    reward = play(obs, actions)
    advantage = reward - reward.mean()

    chosen = logp[:, actions]
    loss = -(chosen * advantage).mean()

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 20 == 0:
        print("update", update, "mean reward", reward.mean().item())

with torch.no_grad():
    obs = torch.randn(500, 6)
    print("greedy reward", play(obs, policy(obs).argmax(1)).mean().item())
