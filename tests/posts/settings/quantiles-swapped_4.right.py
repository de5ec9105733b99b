# line 20: the TD errors of the quantile network are the estimates minus the targets, so tau and 1 - tau are swapped
import torch
from torch import nn

N_QUANT, N_ACTIONS, GAMMA = 11, 2, 0.0


class QuantileQ(nn.Module):
    def __init__(self, obs=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, N_ACTIONS * N_QUANT))
        self.register_buffer("tau", (torch.arange(N_QUANT) + 0.5) / N_QUANT)

    def forward(self, obs):
        return self.net(obs).view(-1, N_ACTIONS, N_QUANT)


def quantile_huber(current, target, tau, kappa=0.1):
    """current (B, N) and target (B, M), all pairs are compared."""
    u = target.unsqueeze(1) - current.unsqueeze(2)
    huber = torch.where(u.abs() <= kappa, 0.5 * u.square(), kappa * (u.abs() - 0.5 * kappa))
    weight = (tau.view(1, -1, 1) - (u.detach() < 0).float()).abs()
    return (weight * huber / kappa).mean(dim=2).sum(dim=1).mean()


def bandit(obs, action):
    """Action 1 has a long tail of good rewards."""
    tail = torch.distributions.Exponential(torch.ones(len(obs))).sample()
    return torch.where(action == 1, tail + 0.2 * obs[:, 0], 0.8 + 0.1 * torch.randn(len(obs)))


torch.manual_seed(0)
online, frozen = QuantileQ(), QuantileQ()
frozen.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=2e-3)
for step in range(400):
    obs, action = torch.randn(64, 3), torch.randint(0, N_ACTIONS, (64,))
    reward = bandit(obs, action)
    with torch.no_grad():
        following = frozen(torch.randn(64, 3))
        greedy = following.mean(2).argmax(1)
        target = reward[:, None] + GAMMA * following[torch.arange(64), greedy]
    current = online(obs)[torch.arange(64), action]
    loss = quantile_huber(current, target, online.tau)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        frozen.load_state_dict(online.state_dict())

online.eval()
with torch.no_grad():
    values = online(torch.randn(300, 3)).mean(0)
print("lowest, middle, highest quantile of action 1", values[1, [0, N_QUANT // 2, -1]].tolist())
