import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class GridEnv:
    """Walk on a line of 9 cells, the goal is on the right end."""

    def __init__(self, size=9, max_steps=40):
        self.size, self.max_steps = size, max_steps

    def _obs(self):
        obs = torch.zeros(self.size)
        obs[self.pos] = 1.0
        return obs

    def reset(self):
        self.pos, self.t = self.size // 2, 0
        return self._obs()

    def step(self, action):
        self.pos = min(max(self.pos + (1 if action == 1 else -1), 0), self.size - 1)
        self.t += 1
        reached = self.pos == self.size - 1
        done = reached or self.t >= self.max_steps
        return self._obs(), (1.0 if reached else -0.02), done


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(),
                                  nn.Linear(hidden, hidden), nn.Tanh())
        self.policy = nn.Linear(hidden, n_actions)
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.policy(h)), self.value(h).squeeze(-1)


gamma = 0.98
torch.manual_seed(0)
env = GridEnv()
net = ActorCritic(env.size, 2)
actor_optim = optim.Adam(list(net.body.parameters()) + list(net.policy.parameters()), lr=3e-3)
critic_optim = optim.Adam(net.value.parameters(), lr=3e-3)

for episode in range(60):
    obs, done = env.reset(), False
    log_probs, values, rewards = [], [], []
    while not done:
        dist, value = net(obs)
        action = dist.sample()
        obs, reward, done = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        values.append(value)
        rewards.append(reward)

    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    values = torch.stack(values)
    advantage = (returns - values).detach()

    actor_loss = -(torch.stack(log_probs) * advantage).mean()
    critic_loss = (returns - values).pow(2).mean()

    actor_optim.zero_grad()
    critic_optim.zero_grad()
    (actor_loss + critic_loss).backward()
    actor_optim.step()
    critic_optim.step()

    if episode % 20 == 19:
        print(f"episode {episode + 1}: steps {len(rewards)}, return {sum(rewards):.2f}")
