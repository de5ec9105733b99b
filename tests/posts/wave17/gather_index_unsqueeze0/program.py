import argparse
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class LineWorld:
    """Walk along a line to the end that the last entry of the observation names."""

    def __init__(self, length=8):
        self.length = length
        self.n_obs = length + 1

    def reset(self):
        self.pos = random.randrange(2, self.length - 2)
        self.goal = random.choice([0, self.length - 1])
        self.t = 0
        return self._obs()

    def _obs(self):
        obs = np.zeros(self.n_obs, dtype=np.float32)
        obs[self.pos] = 1.0
        obs[-1] = 1.0 if self.goal else -1.0
        return obs

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        if self.pos in (0, self.length - 1):
            return self._obs(), 1.0 if self.pos == self.goal else -1.0, True
        return self._obs(), -0.01, self.t >= 30


class QNetwork(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.net(x)


class Replay:
    def __init__(self, capacity):
        self.data = deque(maxlen=capacity)

    def push(self, *transition):
        self.data.append(transition)

    def sample(self, n):
        obs, action, reward, nxt, done = zip(*random.sample(self.data, n))
        to = lambda a, t: torch.as_tensor(np.array(a), dtype=t)
        return (to(obs, torch.float32), to(action, torch.int64), to(reward, torch.float32),
                to(nxt, torch.float32), to(done, torch.float32))

    def __len__(self):
        return len(self.data)


def td_loss(online, target, batch, gamma):
    obs, action, reward, nxt, done = batch
    q_values = online(obs)
    q_taken = torch.gather(q_values, 1, action.unsqueeze(0)).squeeze()
    with torch.no_grad():
        best = target(nxt).max(dim=1)[0]
        expected = reward + gamma * best * (1 - done)
    return F.smooth_l1_loss(q_taken, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--episodes', type=int, default=200)
    parser.add_argument('--batch-size', type=int, default=32)
    parser.add_argument('--gamma', type=float, default=0.97)
    parser.add_argument('--lr', type=float, default=2e-3)
    parser.add_argument('--sync', type=int, default=100)
    args = parser.parse_args()

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    env = LineWorld()
    online, target = QNetwork(env.n_obs, 2), QNetwork(env.n_obs, 2)
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
    replay = Replay(5000)
    returns, updates = [], 0

    for episode in range(args.episodes):
        obs, done, total = env.reset(), False, 0.0
        epsilon = max(0.05, 1.0 - episode / 100)
        while not done:
            if random.random() < epsilon:
                action = random.randrange(2)
            else:
                with torch.no_grad():
                    action = int(online(torch.from_numpy(obs).unsqueeze(0)).argmax(1))
            nxt, reward, done = env.step(action)
            replay.push(obs, action, reward, nxt, done)
            obs, total = nxt, total + reward
            if len(replay) >= 200:
                loss = td_loss(online, target, replay.sample(args.batch_size), args.gamma)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                updates += 1
                if updates % args.sync == 0:
                    target.load_state_dict(online.state_dict())
        returns.append(total)
        if (episode + 1) % 40 == 0:
            print(f'episode {episode + 1}: mean return {np.mean(returns[-40:]):.3f}')


if __name__ == '__main__':
    main()
