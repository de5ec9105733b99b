import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))

BATCH_SIZE = 32
GAMMA = 0.95
EPS_START, EPS_END, EPS_DECAY = 0.9, 0.05, 150


class Corridor:
    """walk left or right from the middle; the right end pays"""

    def __init__(self, length=9):
        self.length = length

    def observe(self):
        s = torch.zeros(1, self.length)
        s[0, self.pos] = 1.0
        return s

    def reset(self):
        self.pos = self.length // 2
        return self.observe()

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        done = self.pos in (0, self.length - 1)
        reward = 1.0 if self.pos == self.length - 1 else -0.02
        return (None if done else self.observe()), reward, done


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, n):
        return random.sample(self.memory, n)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 32)
        self.fc2 = nn.Linear(32, n_actions)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


random.seed(3)
torch.manual_seed(3)
env = Corridor()
model = DQN(env.length, 2)
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
memory = ReplayMemory(2000)
steps_done = 0


def select_action(state):
    global steps_done
    eps = EPS_END + (EPS_START - EPS_END) * math.exp(-steps_done / EPS_DECAY)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return model(state).max(1)[1].view(1, 1)
    return torch.LongTensor([[random.randrange(2)]])


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    alive = torch.tensor([s is not None for s in batch.next_state])
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.tensor(batch.reward)
    q = model(state_batch).gather(1, action_batch).squeeze(1)
    next_values = torch.zeros(BATCH_SIZE)
    if alive.any():
        with torch.no_grad():
            upcoming = torch.cat([s for s in batch.next_state if s is not None])
            next_values[alive] = model(upcoming).max(1)[0]
    loss = F.smooth_l1_loss(q, reward_batch + GAMMA * next_values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


lengths, wins = [], []
for episode in range(80):
    state, done, t, loss = env.reset(), False, 0, None
    while not done and t < 60:
        action = select_action(state)
        next_state, reward, done = env.step(action.item())
        memory.push(state, action, next_state, reward)
        state = next_state
        loss = optimize_model()
        t += 1
    lengths.append(t)
    wins.append(reward == 1.0)
    if (episode + 1) % 20 == 0:
        print('episode %d mean length %.1f wins %d/20' % (episode + 1, sum(lengths[-20:]) / 20, sum(wins[-20:])))
