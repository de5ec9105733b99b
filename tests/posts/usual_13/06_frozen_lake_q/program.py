# Deep Q-learning on the frozen lake, after the tabular version of last week's tutorial
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

random.seed(0)
torch.manual_seed(0)

MAP = ["SFFF",
       "FHFH",
       "FFFH",
       "HFFG"]


class FrozenLake:
    """Same interface as gymnasium's FrozenLake-v1 (is_slippery=False)."""
    n_states, n_actions = 16, 4

    def reset(self):
        self.pos, self.t = 0, 0
        return self.pos, {}

    def step(self, action):
        r, c = divmod(self.pos, 4)
        if action == 0:
            c = max(c - 1, 0)
        elif action == 1:
            r = min(r + 1, 3)
        elif action == 2:
            c = min(c + 1, 3)
        else:
            r = max(r - 1, 0)
        self.pos = 4 * r + c
        self.t += 1
        tile = MAP[r][c]
        return self.pos, float(tile == "G"), tile in "HG", self.t >= 60, {}


class QNet(nn.Module):
    def __init__(self, n_states, n_actions):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_states, 64),
            nn.ReLU(),
            nn.Linear(64, n_actions),
        )

    def forward(self, x):
        return self.net(x)


def encode(state):
    return torch.FloatTensor(state)


env = FrozenLake()
q_net = QNet(env.n_states, env.n_actions)
target_net = QNet(env.n_states, env.n_actions)
target_net.load_state_dict(q_net.state_dict())
optimizer = optim.Adam(q_net.parameters(), lr=2e-3)
loss_fn = nn.SmoothL1Loss()
memory = deque(maxlen=5000)
gamma, eps, steps = 0.95, 1.0, 0
wins = []

for episode in range(150):
    state, _ = env.reset()
    over = False
    while not over:
        if random.random() < eps:
            action = random.randrange(env.n_actions)
        else:
            with torch.no_grad():
                action = q_net(encode(state)).argmax().item()
        next_state, reward, term, trunc, _ = env.step(action)
        memory.append((state, action, reward, next_state, float(term)))
        state, over = next_state, term or trunc
        steps += 1

        if len(memory) >= 200 and steps % 2 == 0:
            s, a, r, s2, d = zip(*random.sample(memory, 64))
            s = torch.stack([encode(x) for x in s])
            s2 = torch.stack([encode(x) for x in s2])
            a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
            q = q_net(s).gather(1, a.unsqueeze(1)).squeeze(1)
            with torch.no_grad():
                target = r + gamma * (1 - d) * target_net(s2).max(dim=1).values
            loss = loss_fn(q, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 200 == 0:
            target_net.load_state_dict(q_net.state_dict())
    eps = max(0.05, eps * 0.98)
    wins.append(reward)
    if (episode + 1) % 50 == 0:
        print(f"episode {episode + 1}: {np.mean(wins[-50:]):.2f} of the last 50 reached the goal")
