import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn

Transition = namedtuple("Transition", "state action reward next_state done")


class Corridor:
    """Walk on a line of cells; the right end pays 1, every step costs a little."""

    def __init__(self, length=8):
        self.length = length

    def reset(self):
        self.position, self.steps = 0, 0
        return self.observe()

    def observe(self):
        state = np.zeros(self.length, dtype=np.float32)
        state[self.position] = 1.0
        return state

    def step(self, action):
        self.position = max(0, self.position + (1 if action == 1 else -1))
        self.steps += 1
        done = self.position == self.length - 1
        return self.observe(), (1.0 if done else -0.01), done, self.steps >= 40


class QNet(nn.Module):
    def __init__(self, n_states, n_actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_states, 32), nn.ReLU(), nn.Linear(32, n_actions))

    def forward(self, x):
        return self.layers(x)


class CentralControl:
    def __init__(self, n_states, n_actions, gamma=0.97, n_update_target=50):
        self.moving_nn = QNet(n_states, n_actions)
        self.target_nn = QNet(n_states, n_actions)
        self.target_nn.load_state_dict(self.moving_nn.state_dict())
        self.optimizer = torch.optim.Adam(self.moving_nn.parameters(), lr=2e-3)
        self.loss_function = nn.MSELoss()
        self.gamma = gamma
        self.n_update_target = n_update_target
        self.iterations = 0

    def get_max_action(self, state):
        with torch.no_grad():
            return int(self.moving_nn(torch.from_numpy(state)).argmax())

    def optimize(self, batch):
        states = torch.from_numpy(np.stack([t.state for t in batch]))
        actions = torch.tensor([t.action for t in batch]).unsqueeze(1)
        rewards = torch.tensor([t.reward for t in batch])
        next_states = torch.from_numpy(np.stack([t.next_state for t in batch]))
        done = torch.tensor([t.done for t in batch])

        values = self.moving_nn(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            next_values = self.target_nn(next_states).max(dim=1).values
        expected = rewards + self.gamma * next_values.masked_fill(done, 0.0)
        loss = self.loss_function(values, expected)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

        self.iterations += 1
        if self.iterations % self.n_update_target == 0:
            self.target_nn.load_state_dict(self.moving_nn.state_dict())
            self.target_nn = self.moving_nn
        return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    env = Corridor()
    control = CentralControl(env.length, 2)
    memory = deque(maxlen=2000)
    epsilon, losses = 1.0, []
    for episode in range(60):
        state, total, over = env.reset(), 0.0, False
        while not over:
            action = random.randrange(2) if random.random() < epsilon else control.get_max_action(state)
            next_state, reward, done, truncated = env.step(action)
            memory.append(Transition(state, action, reward, next_state, done))
            state, total, over = next_state, total + reward, done or truncated
            if len(memory) >= 64:
                losses.append(control.optimize(random.sample(memory, 32)))
        epsilon = max(0.05, epsilon * 0.93)
        if (episode + 1) % 20 == 0:
            print(f"episode {episode + 1}: reward {total:.2f} loss {np.mean(losses[-100:]):.5f} epsilon {epsilon:.2f}")


if __name__ == "__main__":
    main()
