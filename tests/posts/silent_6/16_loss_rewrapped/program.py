import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(12)


class Thermostat:
    """Keep a room near 20 degrees with off / low / high heating."""

    def reset(self):
        self.temp = 15.0 + 10.0 * torch.rand(1).item()
        self.t = 0
        return self._obs()

    def _obs(self):
        return torch.tensor([(self.temp - 20.0) / 5.0])

    def step(self, action):
        self.temp += (-1.0, 0.2, 1.4)[action] + 0.1 * torch.randn(1).item()
        self.t += 1
        reward = -abs(self.temp - 20.0) / 5.0
        return self._obs(), reward, self.t >= 20


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 3))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


def play(env, policy):
    obs, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        dist = policy(obs)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, reward, done = env.step(action.item())
        rewards.append(reward)
    return log_probs, rewards


def discounted(rewards, gamma=0.9):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.insert(0, running)
    return torch.tensor(out)


def update(optimizer, episodes):
    log_probs = [lp for lps, _ in episodes for lp in lps]
    returns = torch.cat([discounted(rs) for _, rs in episodes])
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    terms = [-lp * g for lp, g in zip(log_probs, returns)]
    policy_loss = torch.tensor(terms, requires_grad=True).mean()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    return policy_loss.item()


env = Thermostat()
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
history = []
for iteration in range(1, 61):
    episodes = [play(env, policy) for _ in range(6)]
    loss = update(optimizer, episodes)
    history.append(sum(sum(rs) for _, rs in episodes) / len(episodes))
    if iteration % 10 == 0:
        recent = sum(history[-10:]) / 10
        print(f"iteration {iteration:3d} loss {loss:+.4f} mean reward {recent:.2f}")
