import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Walk to the right end of a corridor; reward 1 there, episode ends at both ends."""

    size = 7

    def reset(self):
        self.pos = self.size // 2
        return self.observe()

    def observe(self):
        return F.one_hot(torch.tensor(self.pos), self.size).float()

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        at_goal = self.pos == self.size - 1
        done = at_goal or self.pos == 0
        return self.observe(), float(at_goal), done


class Agent:
    def __init__(self, n_states, n_actions=2, gamma=0.95):
        self.gamma = gamma
        self.q = self.build(n_states, n_actions)
        self.q_target = self.build(n_states, n_actions)
        self.sync()
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=5000)
        self.eps = 1.0

    @staticmethod
    def build(n_states, n_actions):
        return nn.Sequential(nn.Linear(n_states, 32), nn.ReLU(), nn.Linear(32, n_actions))

    def sync(self):
        self.q_target.load_state_dict(self.q.state_dict())

    def act(self, state):
        if random.random() < self.eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(state).argmax().item()

    def learn(self, batch_size=32):
        batch = random.sample(self.memory, batch_size)
        s, a, r, s2, done = zip(*batch)
        s, s2 = torch.stack(s), torch.stack(s2)
        a = torch.tensor(a).unsqueeze(1)
        r = torch.tensor(r)
        done = torch.tensor(done, dtype=torch.float32)
        q_sa = self.q(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            best_next = self.q_target(s2).max(dim=1).values
            target = r + self.gamma * best_next * (1 - done)
        loss = F.smooth_l1_loss(q_sa, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


random.seed(0)
torch.manual_seed(0)
env = Corridor()
agent = Agent(env.size)
for episode in range(1, 301):
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state)
        next_state, reward, done = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        state = next_state
        total += reward
        if len(agent.memory) >= 64:
            agent.learn()
    agent.eps = max(0.05, agent.eps * 0.99)
    if episode % 5 == 0:
        agent.sync()
    if episode % 60 == 0:
        with torch.no_grad():
            q = agent.q(torch.eye(env.size))[1:-1]
        print(f"episode {episode} return {total:.0f} largest Q {q.max():.2f} mean Q {q.mean():.2f}")
