import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class CorridorEnv:
    def __init__(self, length=8, seed=0):
        self.length = length
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos, self.t = 0, 0
        return self._obs()

    def _obs(self):
        noise = self.rng.normal(0, 0.05, size=3)
        return np.array([self.pos / self.length, self.t / 30, 1.0]) + noise

    def step(self, action):
        self.t += 1
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos >= self.length or self.t >= 30
        reward = 1.0 if self.pos >= self.length else -0.01
        return self._obs(), reward, done


class OptionCritic(nn.Module):
    def __init__(self, in_features, num_actions, num_options, hidden=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(in_features, hidden), nn.ReLU(),
            nn.Linear(hidden, 64), nn.ReLU(),
        )
        self.Q = nn.Linear(64, num_options)
        self.terminations = nn.Linear(64, num_options)
        self.options_W = nn.Parameter(torch.randn(num_options, 64, num_actions) * 0.1)
        self.options_b = nn.Parameter(torch.zeros(num_options, num_actions))

    def get_state(self, obs):
        return self.features(obs)

    def get_action(self, state, option):
        logits = state @ self.options_W[option] + self.options_b[option]
        dist = Categorical(logits=logits)
        action = dist.sample()
        return action.item(), dist.log_prob(action), dist.entropy()


def to_tensor(obs):
    return torch.as_tensor(obs, dtype=torch.float32)


def critic_loss_fn(model, batch, gamma):
    obs, options, rewards, next_obs, dones = zip(*batch)
    obs, next_obs = to_tensor(np.stack(obs)), to_tensor(np.stack(next_obs))
    options = torch.tensor(options)
    q = model.Q(model.get_state(obs)).gather(1, options[:, None]).squeeze(1)
    with torch.no_grad():
        next_q = model.Q(model.get_state(next_obs)).max(1).values
        target = to_tensor(rewards) + gamma * (1 - to_tensor(dones)) * next_q
    return F.mse_loss(q, target)


def actor_loss_fn(model, obs, option, logp, entropy, reward, done, next_obs, gamma):
    state = model.get_state(to_tensor(obs))
    with torch.no_grad():
        next_q = model.Q(model.get_state(to_tensor(next_obs)))
        q = model.Q(state)
        gt = reward + (1 - done) * gamma * next_q.max()
    beta = torch.sigmoid(model.terminations(state)[option])
    termination = beta * (q[option] - q.max() + 0.01)
    return -logp * (gt - q[option]) - 0.01 * entropy + termination


def run(episodes=6, gamma=0.95, eps=0.2):
    torch.manual_seed(0)
    random.seed(0)
    env = CorridorEnv()
    model = OptionCritic(3, 2, num_options=2)
    optim = torch.optim.RMSprop(model.parameters(), lr=5e-4)
    buffer = deque(maxlen=500)
    for episode in range(episodes):
        obs, done, total = env.reset(), False, 0.0
        state = model.get_state(to_tensor(obs))
        option = model.Q(state).argmax().item()
        while not done:
            if random.random() < eps:
                option = random.randrange(2)
            action, logp, entropy = model.get_action(state, option)
            next_obs, reward, done = env.step(action)
            buffer.append((obs, option, reward, next_obs, float(done)))
            total += reward

            loss = actor_loss_fn(model, obs, option, logp, entropy,
                                 reward, float(done), next_obs, gamma)
            loss = loss + critic_loss_fn(model, random.sample(buffer, min(16, len(buffer))), gamma)
            state = model.get_state(to_tensor(next_obs))
            optim.zero_grad()
            loss.backward()
            optim.step()
            obs = next_obs
        print(f"episode {episode} return {total:.2f} loss {loss.item():.4f}")


if __name__ == "__main__":
    run()
