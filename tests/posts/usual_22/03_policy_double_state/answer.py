import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class PoleEnv:
    """A tiny stand-in for CartPole."""

    def __init__(self, max_steps=50):
        self.max_steps = max_steps

    def reset(self):
        self.t = 0
        self.state = np.random.uniform(-0.05, 0.05, size=4)
        return self.state

    def step(self, action):
        force = 0.1 if action == 1 else -0.1
        self.state = self.state + np.array([0.02, force, 0.02, -force]) + np.random.randn(4) * 0.01
        self.t += 1
        done = self.t >= self.max_steps or abs(self.state[2]) > 0.5
        return self.state, 1.0, done


class Policy(nn.Module):
    def __init__(self, obs_dim=4, n_actions=2, hidden=64):
        super(Policy, self).__init__()
        self.fc1 = nn.Linear(obs_dim, hidden)
        self.fc2 = nn.Linear(hidden, n_actions)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        return torch.softmax(self.fc2(x), dim=-1)


def select_action(policy, state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    return action.item(), m.log_prob(action)


def discounted(rewards, gamma=0.99):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.insert(0, g)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-8)


def main():
    env = PoleEnv()
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(10):
        state, done = env.reset(), False
        log_probs, rewards = [], []
        while not done:
            action, log_prob = select_action(policy, state)
            state, reward, done = env.step(action)
            log_probs.append(log_prob)
            rewards.append(reward)
        returns = discounted(rewards)
        loss = -(torch.cat(log_probs) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"episode {episode}  length {len(rewards)}  loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
