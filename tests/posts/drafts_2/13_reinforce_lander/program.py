import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

np.random.seed(0)
torch.manual_seed(0)


class HoverEnv:
    """Keep a drone near height 0 with thrust down, none or up."""

    n_actions = 3
    max_steps = 40

    def reset(self):
        self.state = np.array([np.random.uniform(-1, 1), 0.0], dtype=np.float32)
        self.t = 0
        return self.state

    def step(self, action):
        height, speed = self.state
        speed = 0.9 * speed + 0.1 * (action - 1)
        height = height + speed
        self.state = np.array([height, speed], dtype=np.float32)
        self.t += 1
        done = self.t >= self.max_steps or abs(height) > 3
        return self.state, -abs(float(height)), done


class Policy(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_actions))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


def discounted_returns(rewards, gamma=0.95):
    returns, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        returns.insert(0, running)
    returns = torch.tensor(returns, dtype=torch.float32)
    return (returns - returns.mean()) / (returns.std() + 1e-8)


def run_episode(env, policy):
    obs = env.reset()
    log_probs, rewards = [], []
    done = False
    while not done:
        dist = policy(obs)
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, reward, done = env.step(action.item())
        rewards.append(reward)
    return log_probs, rewards


def main():
    env = HoverEnv()
    policy = Policy(2, env.n_actions)
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)

    scores = []
    for episode in range(150):
        log_probs, rewards = run_episode(env, policy)
        returns = discounted_returns(rewards)
        loss = -(torch.tensor(log_probs) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scores.append(sum(rewards))
        if (episode + 1) % 50 == 0:
            print(f"episode {episode + 1}: mean return {np.mean(scores[-50:]):.2f}")


if __name__ == "__main__":
    main()
