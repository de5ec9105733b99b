import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

SIZE = 4
GAMMA = 0.98


class GridWorld:
    """Walk from the top left to the bottom right corner."""

    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def reset(self):
        self.pos, self.steps = [0, 0], 0
        return self._obs()

    def _obs(self):
        obs = torch.zeros(SIZE * SIZE)
        obs[self.pos[0] * SIZE + self.pos[1]] = 1.0
        return obs

    def step(self, action):
        dr, dc = self.moves[action]
        self.pos[0] = min(max(self.pos[0] + dr, 0), SIZE - 1)
        self.pos[1] = min(max(self.pos[1] + dc, 0), SIZE - 1)
        self.steps += 1
        reached = self.pos == [SIZE - 1, SIZE - 1]
        reward = 1.0 if reached else -0.02
        return self._obs(), reward, reached or self.steps >= 40


class Policy(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.affine1 = nn.Linear(n_obs, 64)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(64, n_actions)

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine1(x)))
        return self.affine2(x)


def select_action(policy, obs):
    scores = policy(obs)
    dist = Categorical(scores)
    action = dist.sample()
    return action.item(), dist.log_prob(action)


def finish_episode(optimizer, log_probs, rewards):
    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + GAMMA * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-6)
    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


torch.manual_seed(0)
env = GridWorld()
policy = Policy(SIZE * SIZE, len(env.moves))
optimizer = optim.Adam(policy.parameters(), lr=1e-2)

for episode in range(60):
    obs, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        action, log_prob = select_action(policy, obs)
        obs, reward, done = env.step(action)
        log_probs.append(log_prob)
        rewards.append(reward)
    finish_episode(optimizer, log_probs, rewards)
    if episode % 20 == 0:
        print(f"episode {episode}: length {len(rewards)}, return {sum(rewards):.2f}")
