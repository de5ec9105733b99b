# line 38: actor and critic share the trunk, whose parameters are in the chained iterator twice
import itertools

import torch
from torch import nn


class Actor(nn.Module):
    def __init__(self, trunk, width, actions):
        super().__init__()
        self.trunk, self.logits = trunk, nn.Linear(width, actions)

    def forward(self, s):
        return torch.distributions.Categorical(logits=self.logits(self.trunk(s)))


class Critic(nn.Module):
    def __init__(self, trunk, width):
        super().__init__()
        self.trunk, self.value = trunk, nn.Linear(width, 1)

    def forward(self, s):
        return self.value(self.trunk(s)).squeeze(-1)


def make_agent(states=5, width=32, actions=3):
    trunk = nn.Sequential(nn.Linear(states, width), nn.Tanh())
    return Actor(trunk, width, actions), Critic(trunk, width)


def reward(states, actions):
    return (states[:, :3].argmax(1) == actions).float()


torch.manual_seed(0)
actor, critic = make_agent()
optimizer = torch.optim.RMSprop(
    itertools.chain(actor.parameters(), critic.parameters()), lr=2e-3
)
for update in range(150):
    states = torch.randn(64, 5)
    policy = actor(states)
    actions = policy.sample()
    gained = reward(states, actions)
    value = critic(states)
    advantage = gained - value.detach()
    actor_loss = -(policy.log_prob(actions) * advantage).mean() - 0.01 * policy.entropy().mean()
    critic_loss = nn.functional.smooth_l1_loss(value, gained)
    optimizer.zero_grad()
    (actor_loss + 0.5 * critic_loss).backward()
    optimizer.step()

actor.eval()
with torch.no_grad():
    states = torch.randn(400, 5)
    print("reward", reward(states, actor(states).probs.argmax(1)).mean().item())
