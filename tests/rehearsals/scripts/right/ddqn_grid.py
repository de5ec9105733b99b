import argparse
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", "state action reward next_state done")


class GridWorld:
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, size=4, seed=0):
        self.size, self.rnd = size, random.Random(seed)

    def reset(self):
        self.agent = [0, 0]
        self.pit = [self.rnd.randint(1, self.size - 2), self.rnd.randint(1, self.size - 2)]
        self.steps = 0
        return self.state()

    def state(self):
        s = np.zeros((2, self.size, self.size), dtype=np.float32)
        s[0, self.agent[0], self.agent[1]] = 1
        s[1, self.pit[0], self.pit[1]] = 1
        return s.ravel()

    def step(self, a):
        self.steps += 1
        dr, dc = self.moves[a]
        self.agent = [min(max(self.agent[0] + dr, 0), self.size - 1), min(max(self.agent[1] + dc, 0), self.size - 1)]
        if self.agent == self.pit:
            return self.state(), -1.0, True
        if self.agent == [self.size - 1] * 2:
            return self.state(), 1.0, True
        return self.state(), -0.02, self.steps >= 30


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.memory, n)))
        return (torch.from_numpy(np.stack(batch.state)), torch.tensor(batch.action).unsqueeze(1),
                torch.tensor(batch.reward), torch.from_numpy(np.stack(batch.next_state)),
                torch.tensor(batch.done, dtype=torch.float32))

    def __len__(self):
        return len(self.memory)


class Agent:
    def __init__(self, obs, actions, args):
        self.args, self.actions, self.steps = args, actions, 0
        self.policy = self.build(obs, actions)
        self.target = self.build(obs, actions)
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = optim.AdamW(self.policy.parameters(), lr=args.lr, amsgrad=True)
        self.memory = ReplayMemory(1000)
        self.losses = deque(maxlen=100)

    @staticmethod
    def build(obs, actions):
        return nn.Sequential(nn.Linear(obs, 48), nn.ReLU(), nn.Linear(48, actions))

    def act(self, state):
        eps = 0.05 + 0.85 * np.exp(-self.steps / 300)
        self.steps += 1
        if random.random() < eps:
            return random.randrange(self.actions)
        with torch.no_grad():
            return self.policy(torch.from_numpy(state)).argmax().item()

    def learn(self):
        if len(self.memory) < self.args.batch_size:
            return
        s, a, r, s2, done = self.memory.sample(self.args.batch_size)
        q = self.policy(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            choice = self.policy(s2).argmax(1, keepdim=True)
            y = r + self.args.gamma * (1 - done) * self.target(s2).gather(1, choice).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.policy.parameters(), 100)
        self.optimizer.step()
        self.losses.append(loss.item())
        with torch.no_grad():
            for t, p in zip(self.target.parameters(), self.policy.parameters()):
                t.mul_(1 - self.args.tau).add_(self.args.tau * p)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=50)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--gamma", type=float, default=0.95)
    ap.add_argument("--tau", type=float, default=0.01)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    env = GridWorld()
    agent = Agent(2 * env.size ** 2, len(env.moves), args)
    scores = []
    for episode in range(args.episodes):
        state, done, score = env.reset(), False, 0.0
        while not done:
            action = agent.act(state)
            nxt, reward, done = env.step(action)
            agent.memory.push(state, action, reward, nxt, done)
            state = nxt
            score += reward
            agent.learn()
        scores.append(score)
        if (episode + 1) % 10 == 0:
            recent = sum(agent.losses) / len(agent.losses) if agent.losses else float("nan")
            print(f"episode {episode + 1} score {np.mean(scores[-10:]):.3f} loss {recent:.4f}")
