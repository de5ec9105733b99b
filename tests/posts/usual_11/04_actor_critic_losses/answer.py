import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical
from collections import namedtuple

SavedAction = namedtuple('SavedAction', ['log_prob', 'value'])
GAMMA = 0.98
SEED = 543


class CliffWalk:
    """4 x 8 grid, start lower left, goal lower right, cliff between them."""

    H, W = 4, 8

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def obs(self):
        return np.array([self.r / (self.H - 1), self.c / (self.W - 1)], dtype=np.float32)

    def reset(self):
        self.r, self.c, self.t = self.H - 1, 0, 0
        return self.obs()

    def step(self, a):
        dr, dc = [(-1, 0), (0, 1), (1, 0), (0, -1)][a]
        self.r = min(max(self.r + dr, 0), self.H - 1)
        self.c = min(max(self.c + dc, 0), self.W - 1)
        self.t += 1
        if self.r == self.H - 1 and 0 < self.c < self.W - 1:
            return self.obs(), -10.0, True
        if self.r == self.H - 1 and self.c == self.W - 1:
            return self.obs(), 10.0, True
        return self.obs(), -0.1, self.t >= 60


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(2, 64)
        self.action_head = nn.Linear(64, 4)
        self.value_head = nn.Linear(64, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_prob = F.softmax(self.action_head(x), dim=-1)
        state_values = self.value_head(x)
        return action_prob, state_values


model = Policy()
optimizer = optim.Adam(model.parameters(), lr=3e-3)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float()
    probs, state_value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode():
    R = 0
    saved_actions = model.saved_actions
    policy_losses = []
    value_losses = []
    returns = []
    for r in model.rewards[::-1]:
        R = r + GAMMA * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    if len(returns) > 1:
        returns = (returns - returns.mean()) / (returns.std() + eps)

    for (log_prob, value), R in zip(saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, R.unsqueeze(0)))

    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()

    del model.rewards[:]
    del model.saved_actions[:]


def main():
    torch.manual_seed(SEED)
    env = CliffWalk(SEED)
    running_reward = -10.0
    for i_episode in range(1, 121):
        state, done, ep_reward = env.reset(), False, 0.0
        while not done:
            action = select_action(state)
            state, reward, done = env.step(action)
            model.rewards.append(reward)
            ep_reward += reward
        running_reward = 0.05 * ep_reward + 0.95 * running_reward
        finish_episode()
        if i_episode % 40 == 0:
            print('Episode {}\tAverage reward: {:.2f}'.format(i_episode, running_reward))


if __name__ == '__main__':
    main()
