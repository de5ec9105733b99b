import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
N_STATES, GAMMA, TARGET_UPDATE = 8, 0.95, 50


def one_hot(s):
    v = np.zeros(N_STATES, dtype=np.float32)
    v[s] = 1.0
    return v


def env_step(s, a):
    s = max(0, s - 1) if a == 0 else s + 1
    done = s == N_STATES - 1
    return s, (1.0 if done else -0.01), done


policy_net = nn.Sequential(nn.Linear(N_STATES, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = policy_net
target_net.eval()
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=2000)
steps = 0

for episode in range(60):
    s, done, length = 0, False, 0
    while not done and length < 60:
        eps = max(0.05, 1.0 - episode / 30)
        with torch.no_grad():
            q = policy_net(torch.from_numpy(one_hot(s)))
        a = random.randrange(2) if random.random() < eps else q.argmax().item()
        s2, r, done = env_step(s, a)
        memory.append((one_hot(s), a, r, one_hot(s2), float(done)))
        s, length, steps = s2, length + 1, steps + 1

        if len(memory) >= 64:
            bs, ba, br, bs2, bd = zip(*random.sample(memory, 32))
            bs, bs2 = torch.from_numpy(np.stack(bs)), torch.from_numpy(np.stack(bs2))
            ba, br, bd = torch.tensor(ba), torch.tensor(br), torch.tensor(bd)
            q_sa = policy_net(bs).gather(1, ba.unsqueeze(1)).squeeze(1)
            with torch.no_grad():
                target = br + GAMMA * (1 - bd) * target_net(bs2).max(1).values
            loss = F.smooth_l1_loss(q_sa, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % TARGET_UPDATE == 0:
            target_net.load_state_dict(policy_net.state_dict())
    if episode % 15 == 14:
        print(f"episode {episode + 1} length {length}")
