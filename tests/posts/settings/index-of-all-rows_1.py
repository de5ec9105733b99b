# line 29: indexing with [:, actions] takes the values of all actions of the batch from every row
import numpy as np
import torch
from torch import nn

gen = np.random.default_rng(4)
torch.manual_seed(4)


class Bandit:
    def __init__(self, arms, features):
        self.w = gen.normal(size=(features, arms))

    def play(self, context, arm):
        means = context @ self.w
        return means[np.arange(len(arm)), arm] + 0.1 * gen.normal(size=len(arm))


class Agent(nn.Module):
    def __init__(self, features, arms):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 32), nn.Tanh())
        self.value = nn.Linear(32, arms)

    def forward(self, context):
        return self.value(self.trunk(context))

    def loss(self, context, arm, reward):
        estimate = self(context)[:, arm]
        return torch.mean(torch.square(estimate - reward))


bandit, agent = Bandit(4, 6), Agent(6, 4)
optimizer = torch.optim.Adam(agent.parameters(), lr=0.01)
for round_ in range(80):
    context = gen.normal(size=(48, 6)).astype(np.float32)
    with torch.no_grad():
        greedy = agent(torch.from_numpy(context)).argmax(-1).numpy()
    explore = gen.random(48) < 0.3
    arm = np.where(explore, gen.integers(0, 4, 48), greedy)
    reward = bandit.play(context, arm).astype(np.float32)
    optimizer.zero_grad()
    loss = agent.loss(torch.from_numpy(context), torch.from_numpy(arm), torch.from_numpy(reward))
    loss.backward()
    optimizer.step()
    if round_ % 20 == 0:
        print(round_, "reward", reward.mean(), "loss", loss.item())
