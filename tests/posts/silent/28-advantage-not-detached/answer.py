import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class CartLine:
    def __init__(self, seed=0):
        self.gen = torch.Generator().manual_seed(seed)

    def reset(self):
        self.x = torch.rand(1, generator=self.gen).item() * 2 - 1
        self.v, self.t = 0.0, 0
        return torch.tensor([self.x, self.v])

    def step(self, a):
        self.v += 0.1 if a == 1 else -0.1
        self.x += self.v * 0.2
        self.t += 1
        done = abs(self.x) > 2 or self.t >= 50
        return torch.tensor([self.x, self.v]), 1.0 - abs(self.x), done


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(2, 32), nn.Linear(32, 2)

    def forward(self, s):
        return F.softmax(self.l2(F.relu(self.l1(s))), dim=-1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(2, 32), nn.Linear(32, 1)

    def forward(self, s):
        return self.l2(F.relu(self.l1(s))).squeeze(-1)


def compute_returns(rewards, gamma):
    out, R = [], 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        out.insert(0, R)
    return torch.tensor(out)


torch.manual_seed(0)
env, actor, critic = CartLine(), Actor(), Critic()
optimizer = torch.optim.Adam(list(actor.parameters()) + list(critic.parameters()), lr=3e-3)

for episode in range(40):
    state, done = env.reset(), False
    log_probs, values, rewards = [], [], []
    while not done:
        dist = Categorical(actor(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        values.append(critic(state))
        state, reward, done = env.step(action.item())
        rewards.append(reward)

    returns = compute_returns(rewards, 0.95)
    log_probs, values = torch.stack(log_probs), torch.stack(values)
    advantage = returns - values
    actor_loss = -(log_probs * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    optimizer.zero_grad()
    (actor_loss + 0.5 * critic_loss).backward()
    optimizer.step()
    if episode % 10 == 9:
        print(f"ep {episode + 1} return {sum(rewards):.2f} critic loss {critic_loss.item():.3f}")
