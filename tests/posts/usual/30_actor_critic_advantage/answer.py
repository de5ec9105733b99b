import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)


class Corridor:
    """cells 0..6, start in the middle, +1 at the right end, -1 at the left end"""

    def __init__(self, length=7, max_steps=30):
        self.length, self.max_steps = length, max_steps

    def reset(self):
        self.pos, self.t = self.length // 2, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos), self.length).float()

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        if self.pos == self.length - 1:
            return self.obs(), 1.0, True
        if self.pos == 0:
            return self.obs(), -1.0, True
        return self.obs(), -0.02, self.t >= self.max_steps


class Policy(nn.Module):
    def __init__(self, n_obs, n_actions, hidden=32):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_obs, hidden), nn.ReLU())
        self.actor = nn.Linear(hidden, n_actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.shared(x)
        return Categorical(logits=self.actor(h)), self.critic(h)


env = Corridor()
net = Policy(7, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
gamma = 0.98
history = []

for episode in range(150):
    states, actions, rewards = [], [], []
    state, done = env.reset(), False
    while not done:
        with torch.no_grad():
            dist, _ = net(state)
        action = dist.sample()
        next_state, reward, done = env.step(action.item())
        states.append(state)
        actions.append(action)
        rewards.append(reward)
        state = next_state

    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        returns.insert(0, g)

    states = torch.stack(states)
    actions = torch.stack(actions)
    returns = torch.tensor(returns)

    dist, values = net(states)
    advantage = returns - values.squeeze(-1)
    actor_loss = -(dist.log_prob(actions) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss - 0.001 * dist.entropy().mean()

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(sum(rewards))
    if (episode + 1) % 50 == 0:
        print(f"episode {episode + 1} mean return {sum(history[-50:]) / 50:.3f} critic loss {critic_loss.item():.4f}")
