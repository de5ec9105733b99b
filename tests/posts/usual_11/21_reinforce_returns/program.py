import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

# ------------------------------------------------------------
# REINFORCE on a small "deliver the parcel" corridor
# ------------------------------------------------------------
N = 9
GAMMA = 0.98
LR = 5e-3
EPISODES = 300


class Corridor:
    def reset(self):
        self.pos = 0
        self.has_parcel = False
        self.t = 0
        return self._obs()

    def _obs(self):
        o = np.zeros(N + 1, dtype=np.float32)
        o[self.pos] = 1.0
        o[N] = float(self.has_parcel)
        return o

    def step(self, action):
        self.pos = min(max(self.pos + (1 if action == 1 else -1), 0), N - 1)
        self.t += 1
        reward = -0.02
        done = self.t >= 40
        if self.pos == N // 2 and not self.has_parcel:
            self.has_parcel = True
            reward += 1.0
        if self.pos == N - 1 and self.has_parcel:
            reward += 2.0
            done = True
        return self._obs(), reward, done


class PolicyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(N + 1, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        return Categorical(logits=self.fc(x))


class Agent:
    def __init__(self):
        self.policy = PolicyNet()
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=LR)
        self.log_probs = []
        self.rewards = []

    def act(self, obs):
        dist = self.policy(torch.from_numpy(obs))
        a = dist.sample()
        self.log_probs.append(dist.log_prob(a))
        return a.item()

    def discounted_returns(self):
        out = []
        g = 0.0
        for r in reversed(self.rewards):
            g = r + GAMMA * g
            out.append(g)
        return torch.tensor(out, dtype=torch.float32)

    def learn(self):
        returns = self.discounted_returns()
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        log_probs = torch.stack(self.log_probs)
        loss = -(log_probs * returns).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.log_probs, self.rewards = [], []
        return loss.item()


def main():
    torch.manual_seed(4)
    np.random.seed(4)
    env, agent = Corridor(), Agent()
    history, lengths = [], []
    for ep in range(1, EPISODES + 1):
        obs, done, total = env.reset(), False, 0.0
        while not done:
            action = agent.act(obs)
            obs, reward, done = env.step(action)
            agent.rewards.append(reward)
            total += reward
        agent.learn()
        history.append(total)
        lengths.append(env.t)
        if ep % 60 == 0:
            print(f"episode {ep:4d}  return {np.mean(history[-60:]):6.3f}  length {np.mean(lengths[-60:]):5.1f}")


if __name__ == "__main__":
    main()
