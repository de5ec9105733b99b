import argparse
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class GridTreasure:
    """Small grid with two rewards: value of the treasure and a cost per move."""

    def __init__(self, size=5, seed=0):
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.values = self.rng.uniform(1, 8, size=size)

    def reset(self):
        self.pos, self.steps = [0, 0], 0
        return self._obs()

    def _obs(self):
        return np.array(self.pos, dtype=np.float32) / self.size

    def step(self, action):
        self.pos[action] = min(self.pos[action] + 1, self.size - 1)
        self.steps += 1
        done = self.pos[0] == self.size - 1 or self.steps >= 2 * self.size
        reward = np.array([self.values[self.pos[1]] if done else 0.0, -1.0], dtype=np.float32)
        return self._obs(), reward, done


def resolve(device):
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)


class Agent:
    def __init__(self, env, device="auto", seed=None):
        self.env = env
        self.device = resolve(device)
        self.rng = random.Random(seed)


class Policy:
    def __init__(self, id=None, device="auto"):
        self.id = id
        self.device = resolve(device)
        self.global_step = 0


class ConditionedNet(nn.Module):
    def __init__(self, obs_dim, n_actions, reward_dim, hidden=32):
        super().__init__()
        self.obs_emb = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Sigmoid())
        self.cmd_emb = nn.Sequential(nn.Linear(reward_dim + 1, hidden), nn.Sigmoid())
        self.out = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_actions))

    def forward(self, obs, command):
        return F.log_softmax(self.out(self.obs_emb(obs) * self.cmd_emb(command)), dim=1)


class ConditionedAgent(Agent, Policy):
    def __init__(self, env, reward_dim=2, lr=1e-3, batch_size=32, device="auto", seed=None):
        Agent.__init__(self, env, device=device, seed=seed)
        Policy.__init__(self, device)
        self.batch_size = batch_size
        self.replay = deque(maxlen=500)
        self.model = ConditionedNet(2, 2, reward_dim).to(device if device != "auto" else self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)

    def collect(self, explore):
        obs, done, episode = self.env.reset(), False, []
        command = np.array([6.0, -6.0, 8.0], dtype=np.float32)
        while not done:
            action = self.rng.randrange(2) if explore else self.act(obs, command)
            nxt, reward, done = self.env.step(action)
            episode.append((obs, action, reward))
            obs = nxt
        ret = np.zeros(2, dtype=np.float32)
        for k, (o, a, r) in enumerate(reversed(episode)):
            ret = ret + r
            self.replay.append((o, a, np.append(ret, np.float32(k + 1))))
        return ret

    def act(self, obs, command):
        obs = torch.as_tensor(obs, device=self.device).unsqueeze(0)
        command = torch.as_tensor(command, device=self.device).unsqueeze(0)
        with torch.no_grad():
            return int(self.model(obs, command).argmax())

    def update(self):
        obs, actions, commands = zip(*self.rng.sample(list(self.replay), self.batch_size))
        obs = torch.as_tensor(np.stack(obs), device=self.device)
        commands = torch.as_tensor(np.stack(commands), device=self.device)
        actions = torch.as_tensor(actions, device=self.device)
        loss = F.nll_loss(self.model(obs, commands), actions)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.global_step += 1
        return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--iterations", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(0)
    agent = ConditionedAgent(GridTreasure(), device=args.device, seed=0)
    for _ in range(20):
        agent.collect(explore=True)
    for it in range(args.iterations):
        loss = agent.update()
        if it % 20 == 0:
            print(f"step {agent.global_step} loss {loss:.3f} return {agent.collect(explore=False)}")
