import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Walk right to the goal; an episode ends after 20 steps."""

    def __init__(self, size=8):
        self.size = size

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        o = np.zeros(self.size, dtype=np.float32)
        o[self.pos] = 1
        return o

    def step(self, a):
        self.pos = max(0, min(self.size - 1, self.pos + (1 if a == 1 else -1)))
        self.t += 1
        done = self.pos == self.size - 1
        return self.obs(), 1.0 if done else -0.02, done, done or self.t >= 20


class MLPNet(nn.Module):
    def __init__(self, in_dim, hid, out_dim):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(in_dim, hid), nn.ReLU(), nn.Linear(hid, out_dim))

    def forward(self, x):
        return self.model(x)


class DQNBase:
    def __init__(self, state_dim, action_dim, lr=0.005, gamma=0.95, update_freq=50):
        self.action_dim = action_dim
        self.gamma = gamma
        self.update_freq = update_freq
        self.net = MLPNet(state_dim, 32, action_dim)
        self.target_net = copy.deepcopy(self.net)
        self.online_net = self.net
        self.eval_net = self.net
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.epsilon = 1.0
        self.total_t = 0

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.action_dim)
        with torch.no_grad():
            return self.net(torch.from_numpy(state)).argmax().item()

    def compute_q_target(self, batch):
        with torch.no_grad():
            next_actions = self.online_net(batch["next_states"]).argmax(dim=1, keepdim=True)
            next_q = self.eval_net(batch["next_states"]).gather(1, next_actions).squeeze(1)
        return batch["rewards"] + self.gamma * (1 - batch["dones"]) * next_q

    def train(self, batch):
        q = self.net(batch["states"]).gather(1, batch["actions"].unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(q, self.compute_q_target(batch))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def update(self):
        self.total_t += 1
        self.epsilon = max(0.1, self.epsilon * 0.998)
        if self.total_t % self.update_freq == 0:
            self.target_net.load_state_dict(self.net.state_dict())


class ReplayMemory:
    def __init__(self, size):
        self.data = deque(maxlen=size)

    def add(self, *transition):
        self.data.append(transition)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.data, n))
        return {
            "states": torch.from_numpy(np.stack(s)),
            "actions": torch.tensor(a),
            "rewards": torch.tensor(r, dtype=torch.float32),
            "next_states": torch.from_numpy(np.stack(s2)),
            "dones": torch.tensor(d, dtype=torch.float32),
        }


def run(episodes=80):
    random.seed(0)
    torch.manual_seed(0)
    env = Corridor()
    agent = DQNBase(env.size, 2)
    memory = ReplayMemory(2000)
    returns = []
    for ep in range(episodes):
        state, total, over = env.reset(), 0.0, False
        while not over:
            action = agent.act(state)
            nxt, reward, done, over = env.step(action)
            memory.add(state, action, reward, nxt, done)
            state, total = nxt, total + reward
            if len(memory.data) >= 64:
                loss = agent.train(memory.sample(32))
            agent.update()
        returns.append(total)
        if (ep + 1) % 20 == 0:
            print(f"episode {ep + 1} return {np.mean(returns[-20:]):.2f} loss {loss:.4f} eps {agent.epsilon:.2f}")


if __name__ == "__main__":
    run()
