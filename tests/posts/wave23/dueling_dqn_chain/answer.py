import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class ChainEnv:
    """Walk along a chain; only the right end pays."""

    n_states, n_actions = 8, 2

    def reset(self):
        self.pos, self.steps = 0, 0
        return self._obs()

    def _obs(self):
        obs = np.zeros(self.n_states, dtype=np.float32)
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.steps += 1
        self.pos = min(self.pos + 1, self.n_states - 1) if action == 1 else max(self.pos - 1, 0)
        done = self.pos == self.n_states - 1
        return self._obs(), float(done), done, self.steps >= 40


class DuelingNet(nn.Module):
    def __init__(self, n_states, n_actions, hidden_dim=64):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(n_states, hidden_dim), nn.ReLU())
        self.advantage = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, n_actions))
        self.value = nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, 1))

    def forward(self, x):
        x = self.hidden(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(dim=1, keepdim=True)


class DuelingDQN:
    def __init__(self, model, memory, cfg):
        self.n_actions = cfg["n_actions"]
        self.device = torch.device(cfg["device"])
        self.gamma, self.batch_size, self.target_update = cfg["gamma"], cfg["batch_size"], cfg["target_update"]
        self.epsilon, self.sample_count = cfg["epsilon"], 0
        self.policy_net = model.to(self.device)
        self.target_net = DuelingNet(cfg["n_states"], cfg["n_actions"], cfg["hidden_dim"]).to(self.device)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = optim.Adam(self.policy_net.parameters(), lr=cfg["lr"])
        self.memory = memory
        self.gap = 0.0

    @torch.no_grad()
    def sample_action(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.n_actions)
        q = self.policy_net(torch.tensor(state, device=self.device).unsqueeze(0))
        return q.argmax(dim=1).item()

    def update(self):
        if len(self.memory) < self.batch_size:
            return
        s, a, r, s2, done = zip(*random.sample(self.memory, self.batch_size))
        s = torch.tensor(np.array(s), device=self.device)
        s2 = torch.tensor(np.array(s2), device=self.device)
        a = torch.tensor(a, device=self.device).unsqueeze(1)
        r = torch.tensor(r, device=self.device)
        done = torch.tensor(done, dtype=torch.float32, device=self.device)
        q = self.policy_net(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            next_q = self.target_net(s2).max(dim=1).values
            self.gap = max(self.gap, (next_q - self.policy_net(s2).max(dim=1).values).abs().max().item())
        loss = nn.functional.mse_loss(q, r + self.gamma * next_q * (1 - done))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.sample_count += 1
        if self.sample_count % self.target_update == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())


random.seed(0)
torch.manual_seed(0)
env = ChainEnv()
cfg = dict(n_states=env.n_states, n_actions=env.n_actions, hidden_dim=64, gamma=0.95, lr=1e-3, batch_size=32,
           target_update=100, epsilon=0.3, device="cuda" if torch.cuda.is_available() else "cpu")
agent = DuelingDQN(DuelingNet(env.n_states, env.n_actions, cfg["hidden_dim"]), deque(maxlen=5000), cfg)
for episode in range(40):
    state, total, finished = env.reset(), 0.0, False
    while not finished:
        action = agent.sample_action(state)
        next_state, reward, done, timeout = env.step(action)
        agent.memory.append((state, action, reward, next_state, done))
        agent.update()
        state, total, finished = next_state, total + reward, done or timeout
    if (episode + 1) % 10 == 0:
        print(f"episode {episode + 1}: return {total}, steps {env.steps}, largest lag of the target {agent.gap:.4f}")
