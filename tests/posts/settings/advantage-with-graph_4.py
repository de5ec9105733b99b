# line 26: the exponential weights of the advantage-weighted regression keep the graph of the value head
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Independent, Normal
from torch.utils.data import DataLoader, TensorDataset


class AWRAgent(nn.Module):
    def __init__(self, obs=4, act=2, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, width), nn.ReLU())
        self.mean = nn.Linear(width, act)
        self.log_std = nn.Parameter(torch.zeros(act))
        self.v = nn.Linear(width, 1)

    def forward(self, obs):
        h = self.trunk(obs)
        policy = Independent(Normal(self.mean(h), self.log_std.exp()), 1)
        return policy, self.v(h).squeeze(-1)


def awr_losses(agent, obs, act, ret, beta=0.5, limit=20.0):
    policy, v = agent(obs)
    better = ret - v
    weight = torch.exp(better / beta).clamp(max=limit)
    return -(weight * policy.log_prob(act)).mean(), F.mse_loss(v, ret)


def logged_drives(n):
    obs = torch.randn(n, 4)
    act = torch.randn(n, 2)
    best = torch.stack([obs[:, 0], obs[:, 1] - obs[:, 2]], dim=1).tanh()
    return TensorDataset(obs, act, -(act - best).square().sum(1))


def main(epochs=8):
    torch.manual_seed(0)
    agent = AWRAgent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2e-3)
    for epoch in range(epochs):
        agent.train()
        sums, n = torch.zeros(2), 0
        for obs, act, ret in DataLoader(logged_drives(640), batch_size=64, shuffle=True):
            policy_loss, value_loss = awr_losses(agent, obs, act, ret)
            optimizer.zero_grad()
            (policy_loss + 0.5 * value_loss).backward()
            optimizer.step()
            sums += torch.stack([policy_loss.detach(), value_loss.detach()]) * len(obs)
            n += len(obs)
        print(epoch, (sums / n).tolist())
    agent.eval()
    with torch.no_grad():
        obs = torch.randn(500, 4)
        best = torch.stack([obs[:, 0], obs[:, 1] - obs[:, 2]], dim=1).tanh()
        print("distance to the best action", (agent(obs)[0].mean - best).abs().mean().item())


main()
