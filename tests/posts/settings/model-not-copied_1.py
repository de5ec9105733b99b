# line 25: the target network of the agent is the same module as its online network
import random

import torch
from torch import nn

random.seed(62)
torch.manual_seed(62)


class Dueling(nn.Module):
    def __init__(self, obs, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.ReLU())
        self.adv, self.val = nn.Linear(32, actions), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        a = self.adv(h)
        return self.val(h) + a - a.mean(-1, keepdim=True)


class Agent:
    def __init__(self, obs, actions, gamma=0.9):
        self.policy_net = self.target_net = Dueling(obs, actions)
        self.opt = torch.optim.Adam(self.policy_net.parameters(), lr=3e-3)
        self.gamma = gamma

    def sync(self):
        self.target_net.load_state_dict(self.policy_net.state_dict())

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            best = self.policy_net(s2).argmax(1, keepdim=True)
            goal = r + self.gamma * self.target_net(s2).gather(1, best).squeeze(1)
        value = self.policy_net(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def transitions(n):
    s = torch.randn(n, 4)
    a = torch.randint(3, (n,))
    s2 = 0.8 * s + 0.1 * (a.unsqueeze(1) - 1)
    return s, a, -s2.norm(dim=1), s2


agent, memory = Agent(4, 3), transitions(600)
for step in range(200):
    rows = torch.tensor(random.sample(range(600), 32))
    loss = agent.learn(*(part[rows] for part in memory))
    if step % 40 == 0:
        agent.sync()
        print(step, loss)
