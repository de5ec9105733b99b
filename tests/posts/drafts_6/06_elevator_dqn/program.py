import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(2)
np.random.seed(2)
torch.manual_seed(2)

Transition = namedtuple("Transition", "state action reward next_state done")
FLOORS = 6


class ElevatorEnv:
    """one cabin, one waiting passenger; actions: 0 down, 1 stay and open, 2 up"""

    def reset(self):
        self.cabin = random.randrange(FLOORS)
        self.passenger = random.randrange(FLOORS)
        self.t = 0
        return self.observe()

    def observe(self):
        return np.array([self.cabin, self.passenger]) / (FLOORS - 1)

    def step(self, action):
        self.t += 1
        reward, done = -0.1, False
        if action == 1:
            if self.cabin == self.passenger:
                reward, done = 1.0, True
            else:
                reward = -0.5
        else:
            self.cabin = min(max(self.cabin + action - 1, 0), FLOORS - 1)
        if self.t >= 25:
            done = True
        return self.observe(), reward, done


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.memory, n)))
        states = torch.from_numpy(np.stack(batch.state))
        actions = torch.tensor(batch.action)
        rewards = torch.tensor(batch.reward)
        next_states = torch.from_numpy(np.stack(batch.next_state))
        dones = torch.tensor(batch.done).float()
        return states, actions, rewards, next_states, dones

    def __len__(self):
        return len(self.memory)


def make_net():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


class Agent:
    def __init__(self, gamma=0.95, lr=1e-3):
        self.q = make_net()
        self.target = make_net()
        self.target.load_state_dict(self.q.state_dict())
        self.buffer = ReplayBuffer(5000)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.gamma = gamma
        self.eps = 1.0

    def act(self, state):
        if random.random() < self.eps:
            return random.randrange(3)
        with torch.no_grad():
            return self.q(torch.tensor(state)).argmax().item()

    def learn(self, batch_size=64):
        states, actions, rewards, next_states, dones = self.buffer.sample(batch_size)
        q = self.q(states).gather(1, actions)
        with torch.no_grad():
            next_q = self.target(next_states).max(1).values
            target = rewards + self.gamma * next_q
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


env = ElevatorEnv()
agent = Agent()
history = []
for episode in range(1, 301):
    state, done, total = env.reset(), False, 0.0
    while not done:
        action = agent.act(state)
        next_state, reward, done = env.step(action)
        agent.buffer.push(state, action, reward, next_state, done)
        state = next_state
        total += reward
        if len(agent.buffer) >= 200:
            agent.learn()
    agent.eps = max(0.05, agent.eps * 0.985)
    history.append(total)
    if episode % 20 == 0:
        agent.target.load_state_dict(agent.q.state_dict())
    if episode % 100 == 0:
        print(f"episode {episode}: mean return {np.mean(history[-50:]):.2f}, eps {agent.eps:.2f}")

with torch.no_grad():
    q = agent.q(torch.tensor([0.4, 0.4]))
print("Q at the passenger's floor (down, open, up):", [round(v, 2) for v in q.tolist()])
