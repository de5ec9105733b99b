import argparse
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description="REINFORCE for a one-dimensional lander")
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--episodes", type=int, default=60)
parser.add_argument("--log-interval", type=int, default=10)
parser.add_argument("--seed", type=int, default=5)
args = parser.parse_args()


class Lander:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.h, self.v, self.fuel = 10.0 + self.rng.normal(), 0.0, 30
        return self.observe()

    def observe(self):
        return np.array([self.h / 10, self.v, self.fuel / 30], dtype=np.float32)

    def step(self, action):
        if action == 1 and self.fuel > 0:
            self.v += 0.25
            self.fuel -= 1
        self.v -= 0.1
        self.h += self.v
        done = self.h <= 0 or self.h > 20
        reward = -0.02
        if done:
            reward = 5.0 - 4 * abs(self.v) if self.h <= 0 else -5.0
        return self.observe(), reward, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 32)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine1(x)))
        return torch.softmax(self.affine2(x), dim=1)


env = Lander(args.seed)
torch.manual_seed(args.seed)
policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    returns = deque()
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    log_probs = torch.stack(policy.saved_log_probs)
    policy_loss = (-log_probs * returns).sum()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    policy.rewards.clear()
    policy.saved_log_probs.clear()
    return policy_loss.item()


def main():
    running_reward = 0.0
    lengths = []
    for i_episode in range(1, args.episodes + 1):
        state, ep_reward = env.reset(), 0.0
        for t in range(1, 80):
            action = select_action(state)
            state, reward, done = env.step(action)
            policy.rewards.append(reward)
            ep_reward += reward
            if done:
                break
        lengths.append(t)
        running_reward = 0.05 * ep_reward + 0.95 * running_reward
        loss = finish_episode()
        if i_episode % args.log_interval == 0:
            print("Episode {}\tLoss: {:.3f}\tLast reward: {:.2f}\tAverage reward: {:.2f}".format(
                i_episode, loss, ep_reward, running_reward))
    print("mean length", np.mean(lengths))


if __name__ == "__main__":
    main()
