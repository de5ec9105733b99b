import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE = 5
GOAL = (4, 4)
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


class GridWalk:
    def reset(self):
        self.position, self.steps = (0, 0), 0
        return self.observe()

    def observe(self):
        return torch.tensor(self.position).float() / (SIZE - 1)

    def step(self, action):
        row = min(max(self.position[0] + MOVES[action][0], 0), SIZE - 1)
        col = min(max(self.position[1] + MOVES[action][1], 0), SIZE - 1)
        self.position = (row, col)
        self.steps += 1
        reached = self.position == GOAL
        return self.observe(), 1.0 if reached else -0.02, reached, self.steps >= 40


class MLP(nn.Module):
    def __init__(self, n_states, n_actions, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(n_states, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_actions)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class DoubleDQN:
    def __init__(self, n_states, n_actions, gamma=0.95, lr=1e-3, batch_size=64):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.n_actions, self.gamma, self.batch_size = n_actions, gamma, batch_size
        model = MLP(n_states, n_actions)
        self.policy_net = model.to(self.device)
        self.target_net = copy.deepcopy(model).to(self.device)
        self.optimizer = torch.optim.Adam(self.policy_net.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)

    def choose_action(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(self.n_actions)
        with torch.no_grad():
            return self.policy_net(state.to(self.device)).argmax().item()

    def update(self):
        if len(self.memory) < self.batch_size:
            return
        states, actions, rewards, next_states, dones = zip(*random.sample(self.memory, self.batch_size))
        states = torch.stack(states).to(self.device)
        next_states = torch.stack(next_states).to(self.device)
        actions = torch.tensor(actions, device=self.device).unsqueeze(1)
        rewards = torch.tensor(rewards, device=self.device)
        dones = torch.tensor(dones, device=self.device).float()

        q_values = self.policy_net(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            best = self.policy_net(next_states).argmax(dim=1, keepdim=True)
            next_q = self.target_net(next_states).gather(1, best).squeeze(1)
            target = rewards + self.gamma * next_q * (1 - dones)
        loss = F.mse_loss(q_values, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def sync(self):
        self.target_net.load_state_dict(self.policy_net.state_dict())


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, agent = GridWalk(), DoubleDQN(2, len(MOVES))
    returns = []
    for episode in range(80):
        state, total, finished = env.reset(), 0.0, False
        epsilon = max(0.05, 1.0 - episode / 40)
        while not finished:
            action = agent.choose_action(state, epsilon)
            next_state, reward, reached, timeout = env.step(action)
            agent.memory.append((state, action, reward, next_state, reached))
            agent.update()
            state, total, finished = next_state, total + reward, reached or timeout
        if episode % 4 == 0:
            agent.sync()
        returns.append(total)
        if episode % 20 == 19:
            print(f"episode {episode + 1}: mean return {sum(returns[-20:]) / 20:.3f}")


if __name__ == "__main__":
    main()
