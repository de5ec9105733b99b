import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

#Hyperparameters
lr_mu        = 0.0005
lr_q         = 0.001
gamma        = 0.98
batch_size   = 32
buffer_limit = 20000
tau          = 0.01


class ReachEnv:
    """1-d cart that has to be pushed to x = 1; falling off at x = -1 costs 5"""
    def reset(self):
        self.x, self.v, self.t = random.uniform(-0.3, 0.3), 0.0, 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.1 * float(np.clip(a, -1.0, 1.0))
        self.x += self.v
        self.t += 1
        r, done = -0.05, False
        if self.x >= 1.0:
            r, done = 1.0, True
        elif self.x <= -1.0:
            r, done = -5.0, True
        return np.array([self.x, self.v], dtype=np.float32), r, done, self.t >= 60


class ReplayBuffer():
    def __init__(self):
        self.buffer = collections.deque(maxlen=buffer_limit)

    def put(self, transition):
        self.buffer.append(transition)

    def sample(self, n):
        s_lst, a_lst, r_lst, s_prime_lst, done_mask_lst = [], [], [], [], []
        for s, a, r, s_prime, done in random.sample(self.buffer, n):
            s_lst.append(s)
            a_lst.append([a])
            r_lst.append([r])
            s_prime_lst.append(s_prime)
            done_mask_lst.append([0.0 if done else 1.0])
        return torch.tensor(np.array(s_lst)), torch.tensor(a_lst, dtype=torch.float), \
            torch.tensor(r_lst, dtype=torch.float), torch.tensor(np.array(s_prime_lst)), \
            torch.tensor(done_mask_lst)

    def size(self):
        return len(self.buffer)


class MuNet(nn.Module):
    def __init__(self):
        super(MuNet, self).__init__()
        self.fc1 = nn.Linear(2, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc_mu = nn.Linear(32, 1)

    def forward(self, x):
        return torch.tanh(self.fc_mu(F.relu(self.fc2(F.relu(self.fc1(x))))))


class QNet(nn.Module):
    def __init__(self):
        super(QNet, self).__init__()
        self.fc_s = nn.Linear(2, 32)
        self.fc_a = nn.Linear(1, 32)
        self.fc_q = nn.Linear(64, 32)
        self.fc_out = nn.Linear(32, 1)

    def forward(self, x, a):
        h = torch.cat([F.relu(self.fc_s(x)), F.relu(self.fc_a(a))], dim=1)
        return self.fc_out(F.relu(self.fc_q(h)))


def train(mu, mu_target, q, q_target, memory, q_optimizer, mu_optimizer):
    s, a, r, s_prime, done_mask = memory.sample(batch_size)
    target = r + gamma * q_target(s_prime, mu_target(s_prime))
    q_loss = F.smooth_l1_loss(q(s, a), target.detach())
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()

    mu_loss = -q(s, mu(s)).mean()
    mu_optimizer.zero_grad()
    mu_loss.backward()
    mu_optimizer.step()


def soft_update(net, net_target):
    for p_target, p in zip(net_target.parameters(), net.parameters()):
        p_target.data.copy_(p_target.data * (1.0 - tau) + p.data * tau)


def main():
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    env, memory = ReachEnv(), ReplayBuffer()
    q, q_target, mu, mu_target = QNet(), QNet(), MuNet(), MuNet()
    q_target.load_state_dict(q.state_dict())
    mu_target.load_state_dict(mu.state_dict())
    mu_optimizer = optim.Adam(mu.parameters(), lr=lr_mu)
    q_optimizer = optim.Adam(q.parameters(), lr=lr_q)

    score = 0.0
    for n_epi in range(60):
        s, done, timeout = env.reset(), False, False
        while not (done or timeout):
            with torch.no_grad():
                a = mu(torch.from_numpy(s).unsqueeze(0)).item() + 0.4 * np.random.randn()
            s_prime, r, done, timeout = env.step(a)
            memory.put((s, a, r, s_prime, done))
            score += r
            s = s_prime
        if memory.size() > 200:
            for i in range(20):
                train(mu, mu_target, q, q_target, memory, q_optimizer, mu_optimizer)
                soft_update(mu, mu_target)
                soft_update(q, q_target)
        if (n_epi + 1) % 10 == 0:
            probe = torch.tensor([[0.95, 0.2]])
            print("# of episode :{}, avg score : {:.2f}, q near goal : {:.2f}".format(
                n_epi + 1, score / 10, q(probe, mu(probe)).item()))
            score = 0.0


if __name__ == '__main__':
    main()
