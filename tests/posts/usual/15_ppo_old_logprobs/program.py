import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class PointEnv:
    """walk on a line, the goal is at 0"""

    def reset(self):
        self.pos = torch.randn(1).item() * 2
        self.steps = 0
        return self._obs()

    def _obs(self):
        return torch.tensor([self.pos, self.steps / 20.0])

    def step(self, action):
        self.pos += 0.3 if action == 1 else -0.3
        self.steps += 1
        reward = -abs(self.pos)
        return self._obs(), reward, self.steps >= 20


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=2, n_actions=2, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, n_actions)
        self.v = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def collect(env, net, n_steps=100):
    obs_buf, act_buf, logp_buf, rew_buf, done_buf = [], [], [], [], []
    obs = env.reset()
    for _ in range(n_steps):
        dist, _ = net(obs)
        action = dist.sample()
        next_obs, reward, done = env.step(action.item())
        obs_buf.append(obs)
        act_buf.append(action)
        logp_buf.append(dist.log_prob(action))
        rew_buf.append(reward)
        done_buf.append(done)
        obs = env.reset() if done else next_obs
    return torch.stack(obs_buf), torch.stack(act_buf), torch.stack(logp_buf), rew_buf, done_buf


def discounted(rewards, dones, gamma=0.99):
    out, running = [], 0.0
    for r, d in zip(reversed(rewards), reversed(dones)):
        running = r + gamma * running * (1 - float(d))
        out.insert(0, running)
    return torch.tensor(out)


torch.manual_seed(0)
env = PointEnv()
net = ActorCritic()
optimizer = optim.Adam(net.parameters(), lr=3e-3)
clip_eps, k_epochs = 0.2, 4

for it in range(5):
    obs, actions, old_logp, rewards, dones = collect(env, net)
    returns = discounted(rewards, dones)
    with torch.no_grad():
        _, values = net(obs)
    adv = returns - values
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)

    for _ in range(k_epochs):
        dist, value = net(obs)
        logp = dist.log_prob(actions)
        ratio = torch.exp(logp - old_logp)
        surr1 = ratio * adv
        surr2 = torch.clamp(ratio, 1 - clip_eps, 1 + clip_eps) * adv
        policy_loss = -torch.min(surr1, surr2).mean()
        value_loss = (returns - value).pow(2).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    print(f"iter {it} mean reward {sum(rewards) / len(rewards):.3f} loss {loss.item():.3f}")
