"""Entropy regularised actor-critic with a tanh-squashed Gaussian on a toy steering problem."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform


class Steering:
    """Many points in the plane; the action is a velocity, the reward the negative distance to the goal."""

    def __init__(self, n_envs, horizon=20):
        self.n, self.horizon = n_envs, horizon

    def reset(self):
        self.t = 0
        self.pos = torch.rand(self.n, 2) * 2 - 1
        self.goal = torch.rand(self.n, 2) * 2 - 1
        return self.observe()

    def observe(self):
        return torch.cat([self.pos, self.goal - self.pos], dim=1)

    def step(self, action):
        self.t += 1
        self.pos = (self.pos + 0.5 * action).clamp(-1.5, 1.5)
        reward = -(self.goal - self.pos).norm(dim=1)
        return self.observe(), reward, self.t >= self.horizon


def mlp(n_in, n_out, hidden=64):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, n_out))


class Policy(nn.Module):
    def __init__(self, obs_dim=4, act_dim=2):
        super().__init__()
        self.mu = mlp(obs_dim, act_dim)
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def forward(self, obs):
        base = Normal(self.mu(obs), self.log_std.clamp(-3, 1).exp())
        squashed = TransformedDistribution(base, [TanhTransform(cache_size=1)])
        return Independent(squashed, 1)


def collect(env, policy, gamma=0.8):
    obs, done, steps = env.reset(), False, []
    while not done:
        with torch.no_grad():
            action = policy(obs).sample()
        nxt, reward, done = env.step(action)
        steps.append((obs, action, reward))
        obs = nxt
    ret, returns = torch.zeros(env.n), []
    for _, _, reward in reversed(steps):
        ret = reward + gamma * ret
        returns.append(ret)
    returns = torch.cat(returns[::-1])
    observations = torch.cat([s[0] for s in steps])
    actions = torch.cat([s[1] for s in steps]).clamp(-0.999, 0.999)
    mean_reward = torch.stack([s[2] for s in steps]).mean().item()
    return observations, actions, returns, mean_reward


def main():
    torch.manual_seed(3)
    env = Steering(n_envs=64)
    policy, critic = Policy(), mlp(4, 1)
    opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=2e-3)
    alpha = 0.2

    for it in range(1, 121):
        obs, act, ret, mean_reward = collect(env, policy)
        value = critic(obs).squeeze(-1)
        adv = ret - value.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)

        dist = policy(obs)
        log_prob = dist.log_prob(act)
        entropy = dist.entropy().mean()
        loss = -(log_prob * adv).mean() + 0.5 * F.mse_loss(value, ret) - alpha * entropy

        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt.step()
        if it % 30 == 1:
            print(f"iter {it:3d} reward {mean_reward:.3f} entropy {entropy.item():.3f}")


if __name__ == "__main__":
    main()
