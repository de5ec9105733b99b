import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn


class GridWorld:
    """Walk from a random cell to the goal in the corner of a 5x5 grid."""

    moves = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def __init__(self, size=5, limit=40):
        self.size, self.limit = size, limit

    def _obs(self):
        obs = np.zeros((2, self.size), dtype=np.float32)
        obs[0, self.pos[0]] = obs[1, self.pos[1]] = 1.0
        return obs.flatten()

    def reset(self):
        self.pos, self.t = [random.randrange(self.size - 1) for _ in range(2)], 0
        return self._obs()

    def step(self, a):
        for k in range(2):
            self.pos[k] = min(max(self.pos[k] + self.moves[a][k], 0), self.size - 1)
        self.t += 1
        goal = self.pos == [self.size - 1] * 2
        return self._obs(), 1.0 if goal else -0.02, goal or self.t >= self.limit


class DQN(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 64)
        self.fc2 = nn.Linear(64, n_actions)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def select_action(Q, obs, eps):
    if random.random() < eps:
        return random.randrange(4)
    with torch.no_grad():
        return Q(torch.from_numpy(obs)).argmax().item()


def dqn_learning(env, episodes=80, batch_size=32, gamma=0.97, target_update=200):
    Q, Q_target = DQN(2 * env.size, 4), DQN(2 * env.size, 4)
    Q_target.load_state_dict(Q.state_dict())
    optimizer = torch.optim.RMSprop(Q.parameters(), lr=1e-3, alpha=0.95, eps=0.01)
    replay = deque(maxlen=5000)
    num_updates = 0
    for ep in range(episodes):
        obs, done, ret = env.reset(), False, 0.0
        while not done:
            action = select_action(Q, obs, max(0.1, 1 - ep / 50))
            nxt, reward, done = env.step(action)
            replay.append((obs, action, reward, nxt, float(done)))
            obs, ret = nxt, ret + reward
            if len(replay) < 200:
                continue
            obs_t, act_t, rew_t, obs_tp1, done_mask = map(np.array, zip(*random.sample(replay, batch_size)))
            obs_t, obs_tp1 = torch.from_numpy(obs_t), torch.from_numpy(obs_tp1)
            act_t = torch.from_numpy(act_t)
            rew_t, done_mask = torch.from_numpy(rew_t).float(), torch.from_numpy(done_mask).float()

            q_s_a = Q(obs_t).gather(1, act_t.unsqueeze(1)).squeeze(1)
            q_tp1 = Q_target(obs_tp1).detach().max(dim=1)[0]
            error = rew_t + gamma * (1 - done_mask) * q_tp1 - q_s_a
            clipped_error = -1.0 * error.clamp(-1, 1)

            optimizer.zero_grad()
            q_s_a.backward(clipped_error.data)
            optimizer.step()
            num_updates += 1
            if num_updates % target_update == 0:
                Q_target.load_state_dict(Q.state_dict())
        if (ep + 1) % 20 == 0:
            print(f"episode {ep + 1}: return {ret:.2f}, updates {num_updates}")


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    dqn_learning(GridWorld())
