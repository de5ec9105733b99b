"""World model for planning: one-step dynamics of a cart on a hill, learned by a small ensemble."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def hill_step(state, action):
    pos, vel = state[..., 0], state[..., 1]
    vel = np.clip(vel + 0.0015 * action - 0.0025 * np.cos(3 * pos), -0.07, 0.07)
    pos = np.clip(pos + vel, -1.2, 0.6)
    return np.stack([pos, vel], -1)


class ReplayBuffer:
    def __init__(self, capacity=3000):
        self.s = np.zeros((capacity, 2), np.float32)
        self.a = np.zeros((capacity, 1), np.float32)
        self.ns = np.zeros((capacity, 2), np.float32)
        self.n = 0

    def collect(self, rng, episodes, horizon):
        for _ in range(episodes):
            state = np.array([rng.uniform(-0.6, -0.4), 0.0])
            for _ in range(horizon):
                action = rng.uniform(-1, 1)
                nxt = hill_step(state, action)
                i = self.n % len(self.s)
                self.s[i], self.a[i], self.ns[i] = state, action, nxt
                self.n += 1
                state = nxt

    def sample(self, rng, size):
        i = rng.integers(0, min(self.n, len(self.s)), size)
        return torch.from_numpy(self.s[i]), torch.from_numpy(self.a[i]), torch.from_numpy(self.ns[i])


class Dynamics(nn.Module):
    """Predicts the scaled change of the state."""

    def __init__(self, hidden=64, p=0.1):
        super().__init__()
        self.l1 = nn.Linear(3, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.l3 = nn.Linear(hidden, 2)
        self.p = p
        self.register_buffer("scale", torch.tensor([0.02, 0.002]))

    def forward(self, s, a):
        h = torch.cat([s * torch.tensor([1.0, 15.0]), a], dim=-1)
        h = F.elu(self.l1(h))
        h = F.dropout(h, p=self.p)
        h = F.elu(self.l2(h))
        h = F.dropout(h, p=self.p)
        return self.l3(h)

    @torch.no_grad()
    def predict(self, s, a):
        return s + self.forward(s, a) * self.scale


def train(model, buffer, rng, steps=800):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.train()
    for step in range(steps):
        s, a, ns = buffer.sample(rng, 64)
        loss = F.smooth_l1_loss(model(s, a), (ns - s) / model.scale)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def rollout_error(model, rng, horizon=30):
    model.eval()
    state = np.stack([rng.uniform(-0.6, -0.4, 50), np.zeros(50)], -1)
    imagined = torch.tensor(state, dtype=torch.float32)
    for _ in range(horizon):
        action = rng.uniform(-1, 1, 50)
        state = hill_step(state, action)
        imagined = model.predict(imagined, torch.tensor(action, dtype=torch.float32).unsqueeze(-1))
    return float(np.abs(imagined.numpy()[:, 0] - state[:, 0]).mean())


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    buffer = ReplayBuffer()
    buffer.collect(rng, episodes=25, horizon=100)
    for member in range(2):
        model = Dynamics()
        loss = train(model, buffer, rng)
        print(f"member {member}: loss {loss:.4f} position error after 30 steps {rollout_error(model, rng):.4f}")
