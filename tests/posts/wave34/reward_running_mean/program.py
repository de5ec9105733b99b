import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TorchRunningStats:
    def __init__(self, epsilon=1e-4, shape=()):
        self.mean = torch.zeros(shape)
        self.var = torch.ones(shape)
        self.count = epsilon

    def update(self, x):
        with torch.no_grad():
            batch_mean = torch.mean(x, dim=0)
            batch_var = torch.var(x, dim=0)
            self.merge(batch_mean, batch_var, x.shape[0])

    def merge(self, batch_mean, batch_var, batch_count):
        delta = batch_mean - self.mean
        total = self.count + batch_count

        new_mean = self.mean + delta + batch_count / total
        m_a = self.var * self.count
        m_b = batch_var * batch_count
        m2 = m_a + m_b + torch.pow(delta, 2) * self.count * batch_count / total

        self.mean, self.var, self.count = new_mean, m2 / total, total

    @property
    def std(self):
        return torch.sqrt(self.var)


def knn_entropy(obs, memory, k):
    dist = torch.norm(obs[:, None, :] - memory[None, :, :], dim=-1)
    return torch.kthvalue(dist, k=k + 1, dim=1).values.unsqueeze(1)


class PointEnv:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)
        self.pos = np.zeros(4, dtype=np.float32)

    def reset(self):
        self.pos = self.rng.uniform(-0.1, 0.1, 4).astype(np.float32)
        return self.pos.copy()

    def step(self, action):
        self.pos = np.clip(self.pos + 0.1 * action + 0.02 * self.rng.randn(4), -2, 2).astype(np.float32)
        return self.pos.copy()


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(obs_dim + act_dim, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, obs, act):
        return self.q(torch.cat([obs, act], dim=1))


def main():
    torch.manual_seed(0)
    env, rng = PointEnv(0), np.random.RandomState(1)
    stats = TorchRunningStats(shape=(1,))
    critic = Critic(4, 4)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    observations, actions, nexts, seen = [], [], [], []

    obs = env.reset()
    for step in range(600):
        action = rng.uniform(-1, 1, 4).astype(np.float32)
        nxt = env.step(action)
        observations.append(obs), actions.append(action), nexts.append(nxt)
        obs = env.reset() if (step + 1) % 100 == 0 else nxt

        if step < 64 or step % 4:
            continue
        idx = rng.randint(0, len(nexts), 32)
        o = torch.from_numpy(np.stack([observations[i] for i in idx]))
        a = torch.from_numpy(np.stack([actions[i] for i in idx]))
        n = torch.from_numpy(np.stack([nexts[i] for i in idx]))
        memory = torch.from_numpy(np.stack(nexts))

        entropy = knn_entropy(n, memory, k=5)
        stats.update(entropy)
        seen.append(entropy)
        reward = (entropy - stats.mean) / stats.std

        with torch.no_grad():
            target = reward + 0.9 * critic(n, torch.zeros_like(a))
        loss = F.mse_loss(critic(o, a), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} critic loss {loss.item():.3f} reward mean {reward.mean().item():+.3f}")

    print(f"running mean {stats.mean.item():.4f}, mean of all entropies {torch.cat(seen).mean().item():.4f}")


if __name__ == "__main__":
    main()
