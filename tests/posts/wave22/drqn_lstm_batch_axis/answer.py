import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(3)
np.random.seed(3)
torch.manual_seed(3)

BATCH_SIZE = 32
GAMMA = 0.95
N_ACTIONS = 4
LSTM_MEMORY = 32


class DRQN(nn.Module):
    def __init__(self, n_action):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 16, kernel_size=4, stride=2)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, stride=2)
        self.bn2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, 64, kernel_size=3, stride=1)
        self.lstm = nn.LSTM(16, LSTM_MEMORY, 1, batch_first=True)
        self.affine1 = nn.Linear(64 * LSTM_MEMORY, 128)
        self.affine2 = nn.Linear(128, n_action)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        h = F.relu(self.conv3(h))
        h = h.view(h.size(0), h.size(1), -1)
        h, _ = self.lstm(h)
        h = h.reshape(h.size(0), -1)
        h = F.relu(self.affine1(h))
        return self.affine2(h)


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        state, action, reward, next_state = zip(*batch)
        return (torch.tensor(np.stack(state)), torch.tensor(action),
                torch.tensor(reward, dtype=torch.float32), torch.tensor(np.stack(next_state)))


def random_frame():
    return np.random.rand(4, 30, 30).astype(np.float32)


def optimize(dqn, target, memory, optimizer):
    state, action, reward, next_state = memory.sample(BATCH_SIZE)
    q_pred = dqn(state).gather(1, action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        q_next = target(next_state).max(1)[0]
    loss = F.smooth_l1_loss(q_pred, reward + GAMMA * q_next)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


dqn = DRQN(N_ACTIONS)
target = DRQN(N_ACTIONS)
target.load_state_dict(dqn.state_dict())
target.eval()
optimizer = torch.optim.RMSprop(dqn.parameters(), lr=1e-3)
memory = ReplayMemory(500)

state = random_frame()
for step in range(200):
    action = random.randrange(N_ACTIONS)
    next_state = random_frame()
    reward = float(state[action].mean() > 0.5)
    memory.push(state, action, reward, next_state)
    state = next_state

for step in range(20):
    loss = optimize(dqn, target, memory, optimizer)
    if step % 5 == 0:
        target.load_state_dict(dqn.state_dict())
        print(f"step {step}: loss {loss:.4f}")

dqn.eval()
with torch.no_grad():
    states, _, _, _ = memory.sample(BATCH_SIZE)
    print("q values:", dqn(states)[-1])
