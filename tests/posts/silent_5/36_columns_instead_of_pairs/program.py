import copy
import random
from collections import deque
import torch
from torch import nn


class Corridor:
    length = 8

    def reset(self):
        self.pos, self.t = 3, 0
        return self.state()

    def state(self):
        s = torch.zeros(self.length)
        s[self.pos] = 1.0
        return s

    def step(self, action):
        self.pos = max(0, min(self.length - 1, self.pos + (1 if action == 1 else -1)))
        self.t += 1
        done = self.pos in (0, self.length - 1)
        reward = 1.0 if self.pos == self.length - 1 else (-1.0 if self.pos == 0 else -0.02)
        return self.state(), reward, done


env, memory = Corridor(), deque(maxlen=2000)
q_net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
gamma = 0.95

for episode in range(150):
    state, done = env.reset(), False
    while not done:
        with torch.no_grad():
            greedy = q_net(state).argmax().item()
        action = random.randrange(2) if random.random() < 0.3 else greedy
        nxt, reward, done = env.step(action)
        memory.append((state, action, reward, nxt, float(done)))
        state = nxt
        if env.t >= 60:
            break
        if len(memory) >= 64:
            s, a, r, s2, d = zip(*random.sample(memory, 64))
            states, next_states = torch.stack(s), torch.stack(s2)
            actions, rewards, dones = torch.tensor(a), torch.tensor(r), torch.tensor(d)
            with torch.no_grad():
                target = rewards + gamma * (1 - dones) * target_net(next_states).max(dim=1).values
            chosen = q_net(states)[:, actions]
            loss = (chosen - target).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    if episode % 5 == 0:
        target_net.load_state_dict(q_net.state_dict())
with torch.no_grad():
    print(q_net(torch.eye(8)[1:7]))
