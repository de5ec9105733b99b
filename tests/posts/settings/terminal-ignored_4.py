# line 42: the returns run over the ends of the episodes in the joined rollout: the loop reads done and does not use it
import numpy as np
import torch
from torch import nn


class Corridor:
    def __init__(self, n=6):
        self.n = n
        self.reset()

    def reset(self):
        self.at, self.t = self.n // 2, 0
        return self.code()

    def code(self):
        return torch.eye(self.n + 1)[self.at]

    def step(self, action):
        self.at += 1 if action else -1
        self.t += 1
        done = self.at in (0, self.n)
        return self.code(), float(self.at == self.n), done


def rollout(env, policy, steps):
    memory = {"obs": [], "act": [], "rew": [], "done": []}
    obs = env.reset()
    for _ in range(steps):
        with torch.no_grad():
            act = torch.distributions.Categorical(logits=policy(obs)).sample()
        following, rew, done = env.step(act.item())
        for key, value in zip(memory, (obs, act, rew, done)):
            memory[key].append(value)
        obs = env.reset() if done else following
    return memory


def rewards_to_go(memory, gamma=0.9):
    running, out = 0.0, np.zeros(len(memory["rew"]), dtype=np.float32)
    for k, rew, done in zip(range(len(out) - 1, -1, -1), memory["rew"][::-1], memory["done"][::-1]):
        running = rew + gamma * running
        out[k] = running
    return torch.from_numpy(out)


torch.manual_seed(0)
env = Corridor()
policy = nn.Linear(7, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
for update in range(25):
    memory = rollout(env, policy, 100)
    togo = rewards_to_go(memory)
    weight = (togo - togo.mean()) / (togo.std() + 1e-6)
    dist = torch.distributions.Categorical(logits=policy(torch.stack(memory["obs"])))
    loss = -(dist.log_prob(torch.stack(memory["act"])) * weight).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 6 == 0:
        print(update, "goals", sum(memory["rew"]), "episodes", sum(memory["done"]))
