import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Walk from a random cell to the right end; the observation is one-hot."""

    def __init__(self, length=8):
        self.length = length
        self.obs = torch.zeros(length)

    def _observe(self):
        self.obs.zero_()
        self.obs[self.cell] = 1.0
        return self.obs

    def reset(self):
        self.cell, self.t = random.randrange(self.length - 1), 0
        return self._observe()

    def step(self, action):
        self.cell = max(0, self.cell + (1 if action == 1 else -1))
        self.t += 1
        reached = self.cell == self.length - 1
        return self._observe(), 1.0 if reached else -0.05, reached or self.t >= 40


class ReplayMemory:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, state, action, reward, next_state, done):
        self.buffer.append((state.clone(), action, reward, next_state.clone(), done))

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.buffer, n))
        return (torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2),
                torch.tensor(d, dtype=torch.float32))

    def __len__(self):
        return len(self.buffer)


def main():
    random.seed(0)
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    env, memory = Corridor(), ReplayMemory(2000)
    q = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).to(device)
    q_target = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).to(device)
    q_target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=3e-3)

    for episode in range(60):
        state, done, total = env.reset().clone(), False, 0.0
        epsilon = max(0.1, 1.0 - episode / 40)
        while not done:
            if random.random() < epsilon:
                action = random.randrange(2)
            else:
                with torch.no_grad():
                    action = q(state.to(device)).argmax().item()
            next_state, reward, done = env.step(action)
            memory.push(state, action, reward, next_state, done)
            state, total = next_state.clone(), total + reward
            if len(memory) < 64:
                continue
            s, a, r, s2, d = (v.to(device) for v in memory.sample(64))
            with torch.no_grad():
                target = r + 0.95 * (1 - d) * q_target(s2).max(dim=1).values
            value = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
            loss = F.smooth_l1_loss(value, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if episode % 5 == 0:
            q_target.load_state_dict(q.state_dict())
        if episode % 10 == 9:
            print(f"episode {episode + 1} return {total:.2f} loss {loss.item():.5f}")
    with torch.no_grad():
        print("values", [round(v, 2) for v in q(torch.eye(8, device=device)).amax(1).tolist()])


if __name__ == "__main__":
    main()
