import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

STACK_SIZE = 4
BATCH_SIZE = 32
EPISODES = 40


class CatchEnv:
    """A paddle has to be under the falling ball when it lands."""

    def __init__(self, size=36, seed=0):
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.observation_shape = (1, size, size)
        self.n_actions = 3

    def reset(self):
        self.ball = [0, int(self.rng.integers(2, self.size - 2))]
        self.paddle = self.size // 2
        return self.render()

    def step(self, action):
        self.paddle = int(np.clip(self.paddle + 3 * (action - 1), 2, self.size - 3))
        self.ball[0] += 3
        done = self.ball[0] >= self.size - 1
        reward = (1.0 if abs(self.paddle - self.ball[1]) <= 2 else -1.0) if done else 0.0
        return self.render(), reward, done

    def render(self):
        frame = np.zeros(self.observation_shape, dtype=np.float32)
        frame[0, min(self.ball[0], self.size - 1), self.ball[1]] = 255
        frame[0, -1, self.paddle - 2:self.paddle + 3] = 255
        return frame


class ReplayBuffer:
    def __init__(self, capacity):
        self.data = deque(maxlen=capacity)

    def add(self, *transition):
        self.data.append(transition)

    def sample(self, n):
        obs, act, rew, nxt, done = zip(*random.sample(self.data, n))
        return (torch.from_numpy(np.stack(obs)), torch.tensor(act), torch.tensor(rew, dtype=torch.float32),
                torch.from_numpy(np.stack(nxt)), torch.tensor(done, dtype=torch.float32))


class ConvQNetwork(nn.Module):
    def __init__(self, in_dim, n_actions, channels=(16, 32), kernel_sizes=(6, 4), strides=(3, 2),
                 hidden=64, normalization_factor=255.0):
        super().__init__()
        self.normalization_factor = normalization_factor
        c, h, w = in_dim
        layers = []
        for out_c, k, s in zip(channels, kernel_sizes, strides):
            layers += [nn.Conv2d(c, out_c, k, s), nn.ReLU()]
            c, h, w = out_c, (h - k) // s + 1, (w - k) // s + 1
        self.conv = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Linear(c * h * w, hidden), nn.ReLU(), nn.Linear(hidden, n_actions))

    def forward(self, x):
        x = self.conv(x / self.normalization_factor)
        return self.head(x.flatten(1))


class DQNAgent:
    def __init__(self, obs_dim, n_actions, stack_size, gamma=0.95, lr=1e-3):
        self.stack_size = stack_size
        self.n_actions = n_actions
        self.gamma = gamma
        c, h, w = obs_dim
        in_dim = (c * stack_size, h, w)
        self.qnet = ConvQNetwork(in_dim, n_actions)
        self.target = ConvQNetwork(in_dim, n_actions)
        self.target.load_state_dict(self.qnet.state_dict())
        self.optimizer = torch.optim.Adam(self.qnet.parameters(), lr=lr)

    def begin(self, frame):
        self.frames = deque([frame] * self.stack_size, maxlen=self.stack_size)
        return np.concatenate(self.frames, axis=0)

    def observe(self, frame):
        self.frames.append(frame)
        return np.concatenate(self.frames, axis=0)

    @torch.no_grad()
    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(self.n_actions)
        return int(self.qnet(torch.from_numpy(state).unsqueeze(0)).argmax(1))

    def update(self, buffer, batch_size):
        obs, act, rew, nxt, done = buffer.sample(batch_size)
        q = self.qnet(obs).gather(1, act.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            goal = rew + self.gamma * (1 - done) * self.target(nxt).max(1).values
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)

    env = CatchEnv()
    agent = DQNAgent(env.observation_shape, env.n_actions, STACK_SIZE)
    buffer = ReplayBuffer(2000)
    for episode in range(EPISODES):
        state, done, total = agent.begin(env.reset()), False, 0.0
        while not done:
            action = agent.act(state, epsilon=max(0.1, 1 - episode / 20))
            frame, reward, done = env.step(action)
            nxt = agent.observe(frame)
            buffer.add(state, action, reward, nxt, done)
            state, total = nxt, total + reward
            if len(buffer.data) >= BATCH_SIZE:
                agent.update(buffer, BATCH_SIZE)
        if episode % 5 == 0:
            agent.target.load_state_dict(agent.qnet.state_dict())
            print(f"episode {episode}: return {total:+.1f}")


if __name__ == "__main__":
    main()
