import collections
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

GAMMA = 0.95
BATCH_SIZE = 32
REPLAY_START = 200
SYNC_TARGET = 100


class Corridor:
    """a ball in a corridor; push it left, right or leave it, the goal is the right end"""
    n_actions = 3

    def __init__(self, length=9, seed=0):
        self.length = length
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos, self.t = int(self.rng.integers(0, self.length - 1)), 0
        return self.observe()

    def observe(self):
        obs = np.zeros(self.length, dtype=np.float32)
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.t += 1
        self.pos = int(np.clip(self.pos + (-1, 0, 1)[action], 0, self.length - 1))
        done = self.pos == self.length - 1 or self.t >= 30
        return self.observe(), float(self.pos == self.length - 1), done


class ExperienceBuffer:
    def __init__(self, capacity, obs_size):
        self.states = np.zeros((capacity, obs_size), dtype=np.float32)
        self.next_states = np.zeros((capacity, obs_size), dtype=np.float32)
        self.actions = np.zeros(capacity, dtype=np.uint8)
        self.rewards = np.zeros(capacity, dtype=np.float32)
        self.dones = np.zeros(capacity, dtype=bool)
        self.capacity, self.count = capacity, 0

    def append(self, s, a, r, d, n):
        i = self.count % self.capacity
        self.states[i], self.actions[i], self.rewards[i], self.dones[i], self.next_states[i] = s, a, r, d, n
        self.count += 1

    def sample(self, size, rng):
        idx = rng.choice(min(self.count, self.capacity), size, replace=False)
        return self.states[idx], self.actions[idx], self.rewards[idx], self.dones[idx], self.next_states[idx]


def build_net(obs_size, n_actions):
    return nn.Sequential(nn.Linear(obs_size, 64), nn.ReLU(), nn.Linear(64, n_actions))


def calc_loss(batch, net, tgt_net, device='cpu'):
    states, actions, rewards, dones, next_states = batch
    states_v = torch.tensor(states).to(device)
    next_states_v = torch.tensor(next_states).to(device)
    actions_v = torch.tensor(actions).to(device)
    rewards_v = torch.tensor(rewards).to(device)
    done_mask = torch.tensor(dones).to(device)

    state_action_values = net(states_v).gather(1, actions_v.unsqueeze(-1)).squeeze(-1)
    with torch.no_grad():
        next_state_values = tgt_net(next_states_v).max(1)[0]
        next_state_values[done_mask] = 0.0
    expected = next_state_values * GAMMA + rewards_v
    return nn.MSELoss()(state_action_values, expected)


def main(frames=2500):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env = Corridor()
    net, tgt_net = build_net(env.length, env.n_actions), build_net(env.length, env.n_actions)
    buffer = ExperienceBuffer(1000, env.length)
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    rewards = collections.deque(maxlen=50)
    state, total = env.reset(), 0.0
    for frame in range(1, frames + 1):
        eps = max(0.05, 1.0 - frame / 1500)
        if rng.random() < eps:
            action = int(rng.integers(env.n_actions))
        else:
            with torch.no_grad():
                action = int(net(torch.tensor(state[None])).argmax())
        new_state, reward, done = env.step(action)
        buffer.append(state, action, reward, done, new_state)
        state, total = new_state, total + reward
        if done:
            rewards.append(total)
            state, total = env.reset(), 0.0
        if frame % 500 == 0:
            print('%d: mean reward %.3f, eps %.2f' % (frame, np.mean(rewards), eps))
        if frame < REPLAY_START:
            continue
        if frame % SYNC_TARGET == 0:
            tgt_net.load_state_dict(net.state_dict())
        optimizer.zero_grad()
        loss_t = calc_loss(buffer.sample(BATCH_SIZE, rng), net, tgt_net)
        loss_t.backward()
        optimizer.step()


if __name__ == '__main__':
    main()
