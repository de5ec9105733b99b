# line 29: the DDPG target adds the value of the next state also where the episode ended; over is unpacked and not used
import copy
import random
from collections import deque

import torch
from torch import nn
from torch.nn.functional import mse_loss

GAMMA, TAU = 0.95, 0.05


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))


class DDPG:
    def __init__(self):
        self.pi, self.q = nn.Sequential(mlp(2, 1), nn.Tanh()), mlp(3, 1)
        self.pi_slow, self.q_slow = copy.deepcopy(self.pi), copy.deepcopy(self.q)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), lr=1e-3)
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.buffer = deque(maxlen=2000)

    def learn(self, n=32):
        s, a, r, s_next, over = map(torch.stack, zip(*random.sample(self.buffer, n)))
        with torch.no_grad():
            later = self.q_slow(torch.cat([s_next, self.pi_slow(s_next)], 1))
            target = r + GAMMA * later
        q_loss = mse_loss(self.q(torch.cat([s, a], 1)), target)
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()
        pi_loss = -self.q(torch.cat([s, self.pi(s)], 1)).mean()
        self.pi_opt.zero_grad()
        pi_loss.backward()
        self.pi_opt.step()
        with torch.no_grad():
            for net, slow in ((self.pi, self.pi_slow), (self.q, self.q_slow)):
                for p, p_slow in zip(net.parameters(), slow.parameters()):
                    p_slow.lerp_(p, TAU)


def cart(state, push):
    x, v = state.tolist()
    v = 0.9 * v + 0.2 * push.item()
    x = x + v
    return torch.tensor([x, v]), torch.tensor([1.0 - abs(x)]), torch.tensor([float(abs(x) > 1.5)])


random.seed(0)
torch.manual_seed(0)
agent, lengths = DDPG(), []
for episode in range(25):
    state = torch.empty(2).uniform_(-0.3, 0.3)
    for t in range(20):
        with torch.no_grad():
            push = (agent.pi(state) + 0.2 * torch.randn(1)).clamp(-1, 1)
        following, reward, over = cart(state, push)
        agent.buffer.append((state, push, reward, following, over))
        state = following
        if len(agent.buffer) >= 64:
            agent.learn()
        if over.item():
            break
    lengths.append(t + 1)
print("first", lengths[:5], "last", lengths[-5:])
