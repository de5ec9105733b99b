# DDPG for a greenhouse heater, half of it from an old TD3 repo
import random
from collections import deque, namedtuple
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 10
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)

Transition = namedtuple("Transition", "state action reward next_state done")


class Greenhouse(object):
    """state = (inside - setpoint, outside - setpoint, power of the last step); action = heater power in [-1, 1]"""

    def reset(self):
        self.inside = np.random.uniform(-4, 4)
        self.outside = np.random.uniform(-8, 0)
        self.power = 0.0
        self.k = 0
        return self._obs()

    def _obs(self):
        return np.array([self.inside / 5, self.outside / 5, self.power], dtype=np.float32)

    def step(self, a):
        self.power = float(np.clip(a, -1, 1))
        self.inside += 0.1 * (self.outside - self.inside) + 0.9 * (self.power + 1) / 2
        self.k += 1
        frozen = self.inside < -7
        reward = -abs(self.inside) / 5 - 0.02 * (self.power + 1) - (5.0 if frozen else 0.0)
        return self._obs(), reward, frozen, self.k >= 60


class Memory(object):
    def __init__(self, maxlen):
        self.data = deque(maxlen=maxlen)

    def push(self, *args):
        self.data.append(Transition(*args))

    def sample(self, n):
        b = Transition(*zip(*random.sample(self.data, n)))
        state = torch.from_numpy(np.stack(b.state))
        action = torch.tensor(b.action).view(-1, 1)
        reward = torch.tensor(b.reward, dtype=torch.float).view(-1, 1)
        next_state = torch.from_numpy(np.stack(b.next_state))
        done = torch.tensor(b.done, dtype=torch.float).view(-1, 1)
        return state, action, reward, next_state, done

    def __len__(self):
        return len(self.data)


class Actor(nn.Module):
    def __init__(self, s_dim, h=64):
        super(Actor, self).__init__()
        self.l1 = nn.Linear(s_dim, h)
        self.l2 = nn.Linear(h, h)
        self.l3 = nn.Linear(h, 1)

    def forward(self, s):
        return torch.tanh(self.l3(F.relu(self.l2(F.relu(self.l1(s))))))


class Critic(nn.Module):
    def __init__(self, s_dim, a_dim=1, h=64):
        super(Critic, self).__init__()
        self.l1 = nn.Linear(s_dim + a_dim, h)
        self.l2 = nn.Linear(h, h)
        self.l3 = nn.Linear(h, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], 1)
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


class DDPG(object):
    def __init__(self, s_dim, gamma=0.97, tau=0.01):
        self.actor, self.actor_target = Actor(s_dim), Actor(s_dim)
        self.critic, self.critic_target = Critic(s_dim), Critic(s_dim)
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=5e-4)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.gamma, self.tau = gamma, tau

    def act(self, s, noise=0.0):
        with torch.no_grad():
            a = self.actor(torch.from_numpy(s).unsqueeze(0)).item()
        return float(np.clip(a + noise * np.random.randn(), -1, 1))

    def train(self, memory, batch_size=64):
        s, a, r, s2, done = memory.sample(batch_size)
        with torch.no_grad():
            q_next = self.critic_target(s2, self.actor_target(s2))
            target_q = r + self.gamma * (1 - done) * q_next
        critic_loss = F.mse_loss(self.critic(s, a), target_q)
        self.c_opt.zero_grad()
        critic_loss.backward()
        self.c_opt.step()

        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.a_opt.zero_grad()
        actor_loss.backward()
        self.a_opt.step()
        for net, tgt in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, tp in zip(net.parameters(), tgt.parameters()):
                tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)


env, agent, memory = Greenhouse(), DDPG(s_dim=3), Memory(10000)
for episode in range(25):
    state, total = env.reset(), 0.0
    while True:
        action = agent.act(state, noise=0.2)
        next_state, reward, done, timeout = env.step(action)
        memory.push(state, action, reward, next_state, done)
        state, total = next_state, total + reward
        if len(memory) > 200:
            agent.train(memory)
        if done or timeout:
            break
    if episode % 5 == 0:
        print("episode %d return %.2f" % (episode, total))
