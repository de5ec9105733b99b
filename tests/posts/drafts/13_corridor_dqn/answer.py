import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Corridor:
    """Walk right to reach the goal; the state is a one-hot position."""

    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.pos, self.t = 0, 0
        return self._obs()

    def _obs(self):
        obs = np.zeros(self.length, dtype=np.float32)
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.t += 1
        self.pos = min(max(self.pos + (1 if action == 1 else -1), 0), self.length - 1)
        done = self.pos == self.length - 1
        return self._obs(), (1.0 if done else -0.01), done


class QNet(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.layers(x)


env = Corridor()
policy_net, target_net = QNet(6, 2), QNet(6, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=2e-3)
memory = deque(maxlen=5000)
GAMMA, BATCH_SIZE = 0.95, 32


def optimize():
    if len(memory) < BATCH_SIZE:
        return
    states, actions, rewards, next_states, dones = zip(*random.sample(memory, BATCH_SIZE))
    states = torch.tensor(np.array(states))
    actions = torch.tensor(actions, dtype=torch.int64).unsqueeze(1)
    rewards = torch.tensor(rewards, dtype=torch.float32)
    next_states = torch.tensor(np.array(next_states))
    dones = torch.tensor(dones, dtype=torch.float32)

    q = policy_net(states).gather(1, actions).squeeze(1)
    with torch.no_grad():
        next_q = target_net(next_states).max(1).values
        target = rewards + (1 - dones) * (GAMMA * next_q)
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


epsilon = 1.0
for episode in range(60):
    state, done, total = env.reset(), False, 0.0
    while not done and env.t < 50:
        if random.random() < epsilon:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = policy_net(torch.from_numpy(state).unsqueeze(0)).argmax(1).item()
        next_state, reward, done = env.step(action)
        memory.append((state, action, reward, next_state, done))
        state, total = next_state, total + reward
        optimize()
    epsilon = max(0.05, epsilon * 0.95)
    if episode % 5 == 0:
        target_net.load_state_dict(policy_net.state_dict())
    if episode % 20 == 19:
        print(f"episode {episode + 1}: return {total:.2f}, steps {env.t}, eps {epsilon:.2f}")
