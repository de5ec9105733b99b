import copy
import math
import random
from collections import namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "obs action reward next_obs done")


class CartPole:
    """Euler-integrated cart pole; 1 point for every step, at most 200 steps."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, action):
        x, v, th, w = self.s
        force = 10.0 if action == 1 else -10.0
        sin, cos = math.sin(th), math.cos(th)
        tmp = (force + 0.05 * w * w * sin) / 1.1
        acc_th = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        acc_x = tmp - 0.05 * acc_th * cos / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * acc_x, th + 0.02 * w, w + 0.02 * acc_th])
        self.t += 1
        terminated = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s.astype(np.float32), 1.0, terminated, self.t >= 200


class ReplayBuffer:
    def __init__(self, capacity):
        self.data, self.capacity, self.i = [], capacity, 0

    def push(self, *args):
        if len(self.data) < self.capacity:
            self.data.append(None)
        self.data[self.i] = Transition(*args)
        self.i = (self.i + 1) % self.capacity

    def sample(self, n):
        b = Transition(*zip(*random.sample(self.data, n)))
        return (torch.from_numpy(np.stack(b.obs)), torch.tensor(b.action),
                torch.tensor(b.reward, dtype=torch.float32),
                torch.from_numpy(np.stack(b.next_obs)), torch.tensor(b.done, dtype=torch.float32))


class DQNAgent:
    def __init__(self, n_obs, n_act, gamma=0.98, lr=1e-3, sync=100):
        self.q = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_act))
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.gamma, self.sync, self.n_act, self.updates = gamma, sync, n_act, 0

    @torch.no_grad()
    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(self.n_act)
        return int(self.q(torch.from_numpy(obs)).argmax())

    def learn(self, buffer, batch_size=64):
        obs, action, reward, next_obs, done = buffer.sample(batch_size)
        q = self.q(obs).gather(1, action.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            next_q = self.target(next_obs).max(1).values
            target = reward + self.gamma * next_q * (1 - done)
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % self.sync == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def evaluate(agent, episodes=10):
    env, returns = CartPole(seed=123), []
    for _ in range(episodes):
        obs, total, over = env.reset(), 0.0, False
        while not over:
            obs, reward, terminated, truncated = env.step(agent.act(obs, 0.0))
            total += reward
            over = terminated or truncated
        returns.append(total)
    return float(np.mean(returns))


def main(total_steps=6000):
    random.seed(0)
    torch.manual_seed(0)
    env, buffer = CartPole(), ReplayBuffer(5000)
    agent = DQNAgent(4, 2)
    obs = env.reset()
    for step in range(1, total_steps + 1):
        eps = max(0.05, 1 - step / 2500)
        action = agent.act(obs, eps)
        next_obs, reward, terminated, truncated = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = env.reset() if terminated or truncated else next_obs
        if step >= 500:
            agent.learn(buffer)
        if step % 1500 == 0:
            print(f"step {step} eval return {evaluate(agent):.1f}")


if __name__ == "__main__":
    main()
