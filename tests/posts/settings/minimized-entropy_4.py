# line 57: the objective that is maximised subtracts the entropy of the policy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class GridWorld:
    def __init__(self, size=5):
        self.size = size

    def reset(self):
        self.pos, self.t = [0, 0], 0
        return self.observe()

    def observe(self):
        obs = np.zeros(2 * self.size, dtype=np.float32)
        obs[self.pos[0]] = obs[self.size + self.pos[1]] = 1
        return torch.from_numpy(obs)

    def step(self, a):
        axis, move = a // 2, 1 if a % 2 else -1
        self.pos[axis] = min(max(self.pos[axis] + move, 0), self.size - 1)
        self.t += 1
        at_goal = self.pos == [self.size - 1] * 2
        return self.observe(), 1.0 if at_goal else -0.02, at_goal or self.t >= 30


def play(env, policy):
    obs, over, log_p, ents, rewards = env.reset(), False, [], [], []
    while not over:
        dist = torch.distributions.Categorical(logits=policy(obs))
        a = dist.sample()
        log_p.append(dist.log_prob(a))
        ents.append(dist.entropy())
        obs, r, over = env.step(a.item())
        rewards.append(r)
    return torch.stack(log_p), torch.stack(ents), rewards


def discounted(rewards, gamma=0.97):
    out, running = [], 0.0
    for r in reversed(rewards):
        running = r + gamma * running
        out.insert(0, running)
    return torch.tensor(out)


torch.manual_seed(1)
env, baseline = GridWorld(), 0.0
policy = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
lengths = []
for episode in range(80):
    log_p, ents, rewards = play(env, policy)
    returns = discounted(rewards)
    objective = ((returns - baseline) * log_p).mean() - 0.01 * ents.mean()
    baseline = 0.9 * baseline + 0.1 * returns.mean().item()
    optimizer.zero_grad()
    objective.neg().backward()
    optimizer.step()
    lengths.append(len(rewards))
print("first", np.mean(lengths[:20]), "last", np.mean(lengths[-20:]))
