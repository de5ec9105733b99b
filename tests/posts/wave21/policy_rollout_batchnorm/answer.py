import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class GridChase:
    """Agent has to reach a target on a small grid, observation is a flat vector."""

    MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, size=6, limit=20, seed=0):
        self.size, self.limit = size, limit
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.agent = self.rng.integers(0, self.size, size=2)
        self.goal = self.rng.integers(0, self.size, size=2)
        self.t = 0
        return self._obs()

    def _obs(self):
        delta = self.goal - self.agent
        return np.concatenate([self.agent, self.goal, delta, np.sign(delta)]).astype(np.float32)

    def step(self, action):
        self.agent = np.clip(self.agent + self.MOVES[action], 0, self.size - 1)
        self.t += 1
        reached = bool((self.agent == self.goal).all())
        reward = 1.0 if reached else -0.05
        return self._obs(), reward, reached or self.t >= self.limit


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, num_actions, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(obs_dim, hidden), nn.BatchNorm1d(hidden), nn.ELU(),
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ELU(),
        )
        self.actor = nn.Linear(hidden, num_actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, obs):
        features = self.encoder(obs)
        return Categorical(logits=self.actor(features)), self.critic(features).squeeze(-1)


class NetworkPolicy:
    def __init__(self, model):
        self.model = model

    def __call__(self, obs):
        batch = torch.from_numpy(obs).unsqueeze(0)
        self.model.eval()
        with torch.no_grad():
            dist, _ = self.model(batch)
        return int(dist.sample())


def generate(env, policy, episodes, gamma):
    observations, actions, returns, scores = [], [], [], []
    for _ in range(episodes):
        obs, done, rewards = env.reset(), False, []
        while not done:
            action = policy(obs)
            observations.append(obs)
            actions.append(action)
            obs, reward, done = env.step(action)
            rewards.append(reward)
        g, episode_returns = 0.0, []
        for r in reversed(rewards):
            g = r + gamma * g
            episode_returns.append(g)
        returns.extend(reversed(episode_returns))
        scores.append(sum(rewards))
    data = (torch.tensor(np.stack(observations)), torch.tensor(actions), torch.tensor(returns))
    return data, float(np.mean(scores))


def update(model, optimizer, data):
    model.train()
    obs, actions, returns = data
    dist, values = model(obs)
    advantage = returns - values.detach()
    policy_loss = -(dist.log_prob(actions) * advantage).mean()
    value_loss = (returns - values).pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--gamma", type=float, default=0.97)
    args = parser.parse_args()
    torch.manual_seed(0)

    env = GridChase()
    model = ActorCritic(obs_dim=8, num_actions=4)
    policy = NetworkPolicy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for it in range(args.iterations):
        data, score = generate(env, policy, args.episodes, args.gamma)
        loss = update(model, optimizer, data)
        print(f"iteration {it}: score {score:.2f}  loss {loss:.3f}")


if __name__ == "__main__":
    main()
