import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, n_items):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3 * n_items, 64), nn.Tanh(), nn.Linear(64, n_items))

    def forward(self, obs, legal):
        logits = self.net(obs)
        logits.masked_fill(~legal, -1e9)
        return Categorical(logits=logits)


def rollout(policy, values, weights, capacity):
    batch, n = values.shape
    taken = torch.zeros(batch, n, dtype=torch.bool)
    left = torch.full((batch,), capacity)
    log_probs, rewards, illegal = [], [], 0
    for _ in range(3):
        legal = ~taken & (weights <= left[:, None])
        alive = legal.any(dim=1)
        dist = policy(torch.cat([values, weights, legal.float()], dim=1), legal)
        action = dist.sample()
        rows = torch.arange(batch)
        ok = legal[rows, action]
        illegal += (alive & ~ok).sum().item()
        gain = torch.where(ok, values[rows, action], torch.zeros(batch))
        left = left - torch.where(ok, weights[rows, action], torch.zeros(batch))
        taken[rows, action] = taken[rows, action] | ok
        log_probs.append(dist.log_prob(action) * alive)
        rewards.append(gain)
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    return torch.stack(log_probs), returns, illegal


torch.manual_seed(0)
policy = Policy(8)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(1, 301):
    values, weights = torch.rand(64, 8), 0.1 + 0.5 * torch.rand(64, 8)
    log_probs, returns, illegal = rollout(policy, values, weights, 1.0)
    advantage = returns - returns.mean(dim=1, keepdim=True)
    loss = -(log_probs * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: return {returns[0].mean().item():.3f}, illegal choices {illegal}")
