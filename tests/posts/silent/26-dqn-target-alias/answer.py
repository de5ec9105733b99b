import random
from collections import deque, namedtuple
from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "state action reward next_state done")


class LineWorld:
    """Walk on 0..9, +1 at the right end."""

    def reset(self):
        self.pos, self.t = 4, 0
        return self._obs()

    def _obs(self):
        return F.one_hot(torch.tensor(self.pos), 10).float()

    def step(self, action):
        self.pos = max(0, min(9, self.pos + (1 if action == 1 else -1)))
        self.t += 1
        done = self.pos in (0, 9)
        return self._obs(), float(self.pos == 9), done or self.t >= 40, done


class QNet(nn.Module):
    def __init__(self, n_obs=10, n_actions=2):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.layers(x)


random.seed(0)
torch.manual_seed(0)
policy_net = QNet()
target_net = deepcopy(policy_net)
target_net.eval()
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=2000)
GAMMA, BATCH, SYNC = 0.95, 32, 50
env, steps, eps = LineWorld(), 0, 1.0


def optimize():
    if len(memory) < BATCH:
        return
    batch = Transition(*zip(*random.sample(memory, BATCH)))
    s, s2 = torch.stack(batch.state), torch.stack(batch.next_state)
    a, r, d = torch.tensor(batch.action), torch.tensor(batch.reward), torch.tensor(batch.done).float()
    q = policy_net(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        target = r + GAMMA * (1 - d) * target_net(s2).max(1).values
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for episode in range(30):
    state, finished, ret = env.reset(), False, 0.0
    while not finished:
        if random.random() < eps:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = policy_net(state.unsqueeze(0)).argmax(1).item()
        next_state, reward, finished, terminal = env.step(action)
        memory.append(Transition(state, action, reward, next_state, terminal))
        state, ret, steps = next_state, ret + reward, steps + 1
        optimize()
        if steps % SYNC == 0:
            target_net.load_state_dict(policy_net.state_dict())
    eps = max(0.05, eps * 0.93)
    if episode % 10 == 9:
        print(f"episode {episode + 1} return {ret:.1f} eps {eps:.2f}")
