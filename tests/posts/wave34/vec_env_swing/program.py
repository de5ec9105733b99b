import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Normal


class SwingEnv(object):
    """Pole that has to be swung up, one torque as action."""
    max_torque, dt, obs_dim, action_dim = 2.0, 0.05, 3, 1

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.th, self.thdot = self.rng.uniform(-np.pi, np.pi), self.rng.uniform(-1, 1)
        self.t = 0
        return self._obs()

    def _obs(self):
        return np.array([np.cos(self.th), np.sin(self.th), self.thdot], dtype=np.float32)

    def step(self, u):
        u = np.clip(u, -self.max_torque, self.max_torque)[0]
        th = ((self.th + np.pi) % (2 * np.pi)) - np.pi
        cost = th ** 2 + 0.1 * self.thdot ** 2 + 0.001 * u ** 2
        self.thdot = np.clip(self.thdot + (15 * np.sin(self.th) + 3 * u) * self.dt, -8, 8)
        self.th = self.th + self.thdot * self.dt
        self.t += 1
        return self._obs(), -cost, self.t >= 100


class VecEnv(object):
    def __init__(self, n):
        self.envs = [SwingEnv(i) for i in range(n)]
        self.num_envs = n

    def reset(self):
        return np.stack([e.reset() for e in self.envs])

    def step(self, actions):
        obs, rews, dones = [], [], []
        for env, a in zip(self.envs, actions):
            o, r, d = env.step(a)
            if d:
                o = env.reset()
            obs.append(o), rews.append(r), dones.append(d)
        return np.stack(obs), np.array(rews, dtype=np.float32), np.array(dones)


class VecTorch(object):
    def __init__(self, venv, device):
        self.venv, self.device = venv, device

    def reset(self):
        return torch.from_numpy(self.venv.reset()).to(self.device)

    def step(self, actions):
        actions = actions.squeeze(1).cpu().numpy()
        obs, reward, done = self.venv.step(actions)
        obs = torch.from_numpy(obs).to(self.device)
        reward = torch.from_numpy(reward).unsqueeze(dim=1)
        return obs, reward, done


class Policy(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, act_dim)
        self.log_std = nn.Parameter(torch.zeros(act_dim))
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Normal(self.mu(h), self.log_std.exp()), self.value(h)


def main(num_envs=4, num_steps=20, updates=10, gamma=0.95):
    torch.manual_seed(0)
    device = torch.device("cpu")
    envs = VecTorch(VecEnv(num_envs), device)
    policy = Policy(SwingEnv.obs_dim, SwingEnv.action_dim)
    opt = torch.optim.RMSprop(policy.parameters(), lr=7e-4, eps=1e-5)
    obs = envs.reset()
    for j in range(updates):
        logps, values, rewards, masks, entropies = [], [], [], [], []
        for _ in range(num_steps):
            dist, value = policy(obs)
            action = dist.sample()
            obs, reward, done = envs.step(action)
            logps.append(dist.log_prob(action).sum(-1, keepdim=True))
            entropies.append(dist.entropy().mean())
            values.append(value)
            rewards.append(reward)
            masks.append(torch.tensor([[0.0] if d else [1.0] for d in done]))
        with torch.no_grad():
            ret = policy(obs)[1]
        returns = []
        for r, m in zip(reversed(rewards), reversed(masks)):
            ret = r + gamma * ret * m
            returns.insert(0, ret)
        adv = torch.stack(returns) - torch.stack(values)
        loss = -(adv.detach() * torch.stack(logps)).mean() + 0.5 * adv.pow(2).mean() - 0.01 * torch.stack(entropies).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt.step()
        print("update", j, "mean reward %.3f" % torch.stack(rewards).mean().item(), "loss %.3f" % loss.item())


if __name__ == "__main__":
    main()
