import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "state action reward next_state done")


class Corridor:
    """Agent on a line of cells; goal at the right end, a pit at the left end."""

    def __init__(self, n=11, max_steps=40):
        self.n, self.max_steps = n, max_steps

    def _obs(self):
        v = np.zeros(self.n, dtype=np.float32)
        v[self.pos] = 1.0
        return v

    def reset(self):
        self.pos, self.t = self.n // 3, 0
        return self._obs()

    def step(self, action):
        move = 1 if action == 1 else -1
        if random.random() < 0.1:
            move = -move
        self.pos += move
        self.t += 1
        if self.pos == self.n - 1:
            return self._obs(), 10.0, True
        if self.pos == 0:
            return self._obs(), -5.0, True
        return self._obs(), -0.1, self.t >= self.max_steps


class QNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 64)
        self.fc2 = nn.Linear(64, n_act)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Agent:
    def __init__(self, n_obs, n_act, gamma=0.97, lr=1e-3, sync_every=200):
        self.n_act, self.gamma, self.sync_every = n_act, gamma, sync_every
        self.policy_net = QNet(n_obs, n_act)
        self.target_net = QNet(n_obs, n_act)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)
        self.updates = 0

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.n_act)
        with torch.no_grad():
            return self.policy_net(torch.from_numpy(state).unsqueeze(0)).argmax(1).item()

    def learn(self, batch_size=64):
        if len(self.memory) < batch_size:
            return None
        batch = Transition(*zip(*random.sample(self.memory, batch_size)))
        s = torch.from_numpy(np.stack(batch.state))
        a = torch.tensor(batch.action).unsqueeze(1)
        r = torch.tensor(batch.reward, dtype=torch.float32)
        s2 = torch.from_numpy(np.stack(batch.next_state))
        d = torch.tensor(batch.done, dtype=torch.float32)

        q = self.policy_net(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            target = r + self.gamma * (1 - d) * self.target_net(s2).max(1).values
        loss = F.smooth_l1_loss(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())
        return loss.item()


def main(episodes=120):
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    env = Corridor()
    agent = Agent(env.n, 2)
    eps, history = 1.0, []
    for ep in range(episodes):
        state, done, total = env.reset(), False, 0.0
        while not done:
            action = agent.act(state, eps)
            nxt, reward, done = env.step(action)
            agent.memory.append(Transition(state, action, reward, nxt, done))
            agent.learn()
            state, total = nxt, total + reward
        eps = max(0.05, eps * 0.97)
        history.append(total)
        if (ep + 1) % 30 == 0:
            print(f"episode {ep + 1}: mean return {np.mean(history[-30:]):.2f}, eps {eps:.2f}, updates {agent.updates}")


if __name__ == "__main__":
    main()
