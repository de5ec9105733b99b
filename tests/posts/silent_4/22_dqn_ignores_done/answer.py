import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(22)
torch.manual_seed(22)
GAMMA = 0.9


class Corridor:
    size = 7

    def reset(self):
        self.pos = 3
        return self.obs()

    def obs(self):
        return np.array([self.pos / (self.size - 1), 1.0], dtype=np.float32)

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        done = self.pos in (0, self.size - 1)
        reward = 1.0 if self.pos == self.size - 1 else (-1.0 if self.pos == 0 else 0.0)
        return self.obs(), reward, done


env = Corridor()
transitions = []
while len(transitions) < 3000:
    state, done = env.reset(), False
    while not done:
        action = int(rng.integers(2))
        nxt, reward, done = env.step(action)
        transitions.append((state, action, reward, nxt, done))
        state = nxt

states, actions, rewards, next_states, dones = map(np.array, zip(*transitions))
states, next_states = torch.from_numpy(states), torch.from_numpy(next_states)
actions = torch.from_numpy(actions).unsqueeze(1)
rewards = torch.from_numpy(rewards).float().unsqueeze(1)
dones = torch.from_numpy(dones).float().unsqueeze(1)

q_net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 2))
target_net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 2))
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)

for it in range(2500):
    idx = torch.randint(0, len(states), (64,))
    q = q_net(states[idx]).gather(1, actions[idx])
    with torch.no_grad():
        next_q = target_net(next_states[idx]).max(dim=1, keepdim=True).values
        target = rewards[idx] + GAMMA * (1 - dones[idx]) * next_q
    loss = nn.functional.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        target_net.load_state_dict(q_net.state_dict())
print("Q at the start:", q_net(torch.tensor([0.5, 1.0])).tolist())
