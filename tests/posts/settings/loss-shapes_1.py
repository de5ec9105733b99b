# line 43: the critic returns (1, 25) for one rollout and the returns are (25,): smooth_l1_loss gets both shapes
import torch
import torch.nn as nn
import torch.nn.functional as F


class Critic(nn.Module):
    def __init__(self, obs=4):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return self.f(obs).squeeze(-1)


def discounted(rewards, gamma=0.97):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.append(running)
    return torch.tensor(out[::-1])


class ToyEnv:
    def __init__(self, horizon, seed):
        self.horizon, self.g = horizon, torch.Generator().manual_seed(seed)

    def rollout(self):
        obs = torch.randn(self.horizon, 4, generator=self.g)
        rewards = (obs[:, 0] - 0.5 * obs[:, 1]).tolist()
        return obs, rewards


torch.manual_seed(0)
env = ToyEnv(horizon=25, seed=0)
critic = Critic()
optimizer = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
history = []
for episode in range(60):
    obs, rewards = env.rollout()
    values = critic(obs.unsqueeze(0))
    returns = discounted(rewards)
    value_loss = F.smooth_l1_loss(values, returns)
    optimizer.zero_grad()
    value_loss.backward()
    optimizer.step()
    history.append(value_loss.item())
print("first", sum(history[:10]) / 10, "last", sum(history[-10:]) / 10)
