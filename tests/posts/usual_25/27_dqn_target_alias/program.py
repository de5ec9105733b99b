import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class CorridorEnv:
    def __init__(self, length=8, limit=30):
        self.length, self.limit = length, limit

    def reset(self):
        self.x, self.t = 0, 0
        return self._state()

    def _state(self):
        s = torch.zeros(self.length)
        s[self.x] = 1.0
        return s

    def step(self, a):
        self.x = max(0, self.x - 1) if a == 0 else min(self.length - 1, self.x + 1)
        self.t += 1
        goal = self.x == self.length - 1
        return self._state(), 1.0 if goal else -0.01, goal, self.t >= self.limit


class QNetwork(nn.Module):
    def __init__(self, n_states, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_states, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.net(x)


GAMMA, BATCH, SYNC_EVERY = 0.97, 32, 100
random.seed(0)
torch.manual_seed(0)

env = CorridorEnv()
policy_net = QNetwork(env.length, 2)
target_net = policy_net
target_net.eval()
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=5000)


def optimize():
    if len(memory) < BATCH:
        return
    s, a, r, s2, d = zip(*random.sample(memory, BATCH))
    s, s2 = torch.stack(s), torch.stack(s2)
    a = torch.tensor(a).unsqueeze(1)
    r = torch.tensor(r)
    d = torch.tensor(d, dtype=torch.float32)
    q = policy_net(s).gather(1, a).squeeze(1)
    with torch.no_grad():
        q_next = target_net(s2).max(1).values
    target = r + GAMMA * q_next * (1 - d)
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


steps = 0
for episode in range(80):
    state, finished, total = env.reset(), False, 0.0
    eps = max(0.05, 1.0 - episode / 50)
    while not finished:
        if random.random() < eps:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = policy_net(state).argmax().item()
        nxt, reward, goal, timeout = env.step(action)
        memory.append((state, action, reward, nxt, goal))
        state, total, finished = nxt, total + reward, goal or timeout
        optimize()
        steps += 1
        if steps % SYNC_EVERY == 0:
            target_net.load_state_dict(policy_net.state_dict())
    if (episode + 1) % 20 == 0:
        print(f"episode {episode + 1}: return {total:.2f} eps {eps:.2f}")
