import copy
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Pendulum(object):
    """the usual swing-up pendulum, without gym"""
    max_torque = 2.0

    def reset(self):
        self.th = np.random.uniform(-math.pi, math.pi)
        self.thdot = np.random.uniform(-1, 1)
        return self._state()

    def _state(self):
        return np.array([math.cos(self.th), math.sin(self.th), self.thdot])

    def step(self, u):
        u = float(np.clip(u, -self.max_torque, self.max_torque)[0])
        ang = ((self.th + math.pi) % (2 * math.pi)) - math.pi
        cost = ang ** 2 + 0.1 * self.thdot ** 2 + 0.001 * u ** 2
        self.thdot = np.clip(self.thdot + (15.0 * math.sin(self.th) + 3.0 * u) * 0.05, -8, 8)
        self.th = self.th + self.thdot * 0.05
        return self._state(), -cost


class ReplayBuffer(object):
    def __init__(self, state_dim, action_dim, max_size=20000):
        self.max_size, self.ptr, self.size = max_size, 0, 0
        self.state = np.zeros((max_size, state_dim))
        self.action = np.zeros((max_size, action_dim))
        self.next_state = np.zeros((max_size, state_dim))
        self.reward = np.zeros((max_size, 1))

    def add(self, s, a, s2, r):
        i = self.ptr
        self.state[i], self.action[i], self.next_state[i], self.reward[i] = s, a, s2, r
        self.ptr = (self.ptr + 1) % self.max_size
        self.size = min(self.size + 1, self.max_size)

    def sample(self, n):
        ind = np.random.randint(0, self.size, size=n)
        return tuple(torch.FloatTensor(x[ind]) for x in (self.state, self.action, self.next_state, self.reward))


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim, max_action):
        super(Actor, self).__init__()
        self.l1 = nn.Linear(state_dim, 64)
        self.l2 = nn.Linear(64, 64)
        self.l3 = nn.Linear(64, action_dim)
        self.max_action = max_action

    def forward(self, state):
        a = F.relu(self.l1(state))
        a = F.relu(self.l2(a))
        return self.max_action * torch.tanh(self.l3(a))


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super(Critic, self).__init__()
        self.l1 = nn.Linear(state_dim + action_dim, 64)
        self.l2 = nn.Linear(64, 64)
        self.l3 = nn.Linear(64, 1)

    def forward(self, state, action):
        q = F.relu(self.l1(torch.cat([state, action], 1)))
        return self.l3(F.relu(self.l2(q)))


class DDPG(object):
    def __init__(self, state_dim, action_dim, max_action, discount=0.98, tau=0.01):
        self.actor = Actor(state_dim, action_dim, max_action)
        self.actor_target = copy.deepcopy(self.actor)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic = Critic(state_dim, action_dim)
        self.critic_target = copy.deepcopy(self.critic)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.discount, self.tau = discount, tau

    def select_action(self, state):
        state = torch.FloatTensor(state.reshape(1, -1))
        return self.actor(state).cpu().numpy().flatten()

    def train(self, replay_buffer, batch_size=64):
        state, action, next_state, reward = replay_buffer.sample(batch_size)
        with torch.no_grad():
            target_Q = reward + self.discount * self.critic_target(next_state, self.actor_target(next_state))
        critic_loss = F.mse_loss(self.critic(state, action), target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        for net, target in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
            for param, target_param in zip(net.parameters(), target.parameters()):
                target_param.data.copy_(self.tau * param.data + (1 - self.tau) * target_param.data)


np.random.seed(0)
torch.manual_seed(0)
env = Pendulum()
policy = DDPG(3, 1, env.max_torque)
buffer = ReplayBuffer(3, 1)
warmup, total_steps = 300, 0
for episode in range(12):
    state, ret = env.reset(), 0.0
    for t in range(100):
        if total_steps < warmup:
            action = np.random.uniform(-2, 2, size=1)
        else:
            action = policy.select_action(state) + np.random.normal(0, 0.2, size=1)
        next_state, reward = env.step(action)
        buffer.add(state, action, next_state, reward)
        state, ret, total_steps = next_state, ret + reward, total_steps + 1
        if total_steps >= warmup:
            policy.train(buffer)
    print("Episode %d: return %.1f" % (episode, ret))
