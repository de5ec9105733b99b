# line 47: the double-DQN target uses the next value without (1 - terminal), though terminal is in the batch
import collections
import random
import torch
import torch.nn as nn

Transition = collections.namedtuple("Transition", "obs act rew nxt terminal")


class Corridor:
    def reset(self):
        self.pos = 3
        return self.view()

    def view(self):
        v = torch.zeros(7)
        v[self.pos] = 1
        return v

    def step(self, a):
        self.pos += 1 if a else -1
        over = self.pos in (0, 6)
        return self.view(), float(self.pos == 6), over


class Agent:
    def __init__(self, gamma=0.95):
        self.gamma = gamma
        self.online, self.target = nn.Linear(7, 2), nn.Linear(7, 2)
        self.target.load_state_dict(self.online.state_dict())
        self.opt = torch.optim.Adam(self.online.parameters(), 0.02)
        self.memory = collections.deque(maxlen=500)

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.online(obs).argmax())

    def replay(self, n):
        obs, act, rew, nxt, terminal = zip(*random.sample(self.memory, n))
        obs, nxt = torch.stack(obs), torch.stack(nxt)
        q = self.online(obs)[torch.arange(n), torch.tensor(act)]
        with torch.no_grad():
            pick = self.online(nxt).argmax(1, keepdim=True)
            later = self.target(nxt).gather(1, pick).squeeze(1)
        y = torch.tensor(rew) + self.gamma * later
        loss = nn.functional.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


random.seed(0)
torch.manual_seed(0)
env, agent = Corridor(), Agent()
for episode in range(80):
    obs, over = env.reset(), False
    while not over:
        a = agent.act(obs, 0.3)
        nxt, r, over = env.step(a)
        agent.memory.append(Transition(obs, a, r, nxt, over))
        obs = nxt
        if len(agent.memory) >= 32:
            agent.replay(32)
    if episode % 5 == 0:
        agent.target.load_state_dict(agent.online.state_dict())
with torch.no_grad():
    print("value at the start", agent.online(env.reset()).max().item())
