import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "state action reward next_state done")

random.seed(0)
torch.manual_seed(0)


class CorridorEnv:
    """An agent walks on a line; the right end gives a reward."""

    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.pos, self.steps = 0, 0
        return self._obs()

    def _obs(self):
        return F.one_hot(torch.tensor(self.pos), self.length).float()

    def step(self, action):
        self.pos = max(0, min(self.length - 1, self.pos + (1 if action == 1 else -1)))
        self.steps += 1
        done = self.pos == self.length - 1
        return self._obs(), (1.0 if done else -0.01), done, self.steps >= 50


class QNetwork(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.net(x)


env = CorridorEnv()
policy_net, target_net = QNetwork(8, 2), QNetwork(8, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=5000)
gamma, batch_size, epsilon = 0.95, 32, 0.3


def optimize_model():
    if len(memory) < batch_size:
        return
    batch = Transition(*zip(*random.sample(memory, batch_size)))
    states = torch.stack(batch.state)
    actions = torch.tensor(batch.action)
    rewards = torch.tensor(batch.reward)
    next_states = torch.stack(batch.next_state)
    dones = torch.tensor(batch.done, dtype=torch.float32)

    q_values = policy_net(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        next_q = target_net(next_states).max(1).values
    targets = rewards + gamma * next_q * (1 - dones)
    loss = F.smooth_l1_loss(q_values, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for episode in range(30):
    state, total, done, truncated = env.reset(), 0.0, False, False
    while not (done or truncated):
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = policy_net(state.unsqueeze(0)).argmax(1).item()
        next_state, reward, done, truncated = env.step(action)
        memory.append(Transition(state, action, reward, next_state, done))
        state = next_state
        total += reward
        optimize_model()
    if episode % 5 == 0:
        target_net.load_state_dict(policy_net.state_dict())
        print(f"episode {episode}: return {total:.2f}")
