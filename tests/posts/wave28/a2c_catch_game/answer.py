import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils as nn_utils

GAMMA = 0.99
LEARNING_RATE = 2e-3
ENTROPY_BETA = 0.005
BATCH_SIZE = 128
NUM_ENVS = 16
REWARD_STEPS = 4
CLIP_GRAD = 0.5
UPDATES = 200


class CatchEnv:
    """A ball falls down a 6x5 screen, the paddle in the last row has to be under it."""

    H, W = 6, 5

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.ball = [0, int(self.rng.integers(self.W))]
        self.paddle = self.W // 2
        return self._obs()

    def _obs(self):
        screen = np.zeros((1, self.H, self.W), dtype=np.float32)
        screen[0, self.ball[0], self.ball[1]] = 1.0
        screen[0, -1, self.paddle] = 1.0
        return screen

    def step(self, action):
        self.paddle = int(np.clip(self.paddle + action - 1, 0, self.W - 1))
        self.ball[0] += 1
        done = self.ball[0] == self.H - 1
        reward = (1.0 if self.paddle == self.ball[1] else -1.0) if done else 0.0
        return self._obs(), reward, done


class CatchA2C(nn.Module):
    def __init__(self, n_actions):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Flatten())
        size = 16 * CatchEnv.H * CatchEnv.W
        self.policy = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, n_actions))
        self.value = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        h = self.conv(x)
        return self.policy(h), self.value(h)


class ExperienceSource:
    def __init__(self, envs, net):
        self.envs, self.net = envs, net
        self.obs = [env.reset() for env in envs]
        self.windows = [[] for _ in envs]
        self.total_rewards = []

    def __iter__(self):
        while True:
            with torch.no_grad():
                logits, _ = self.net(torch.from_numpy(np.stack(self.obs)))
                actions = torch.multinomial(F.softmax(logits, dim=1), 1).squeeze(1).tolist()
            for i, (env, action) in enumerate(zip(self.envs, actions)):
                state = self.obs[i]
                self.obs[i], reward, done = env.step(action)
                self.windows[i].append((state, action, reward))
                if done:
                    self.total_rewards.append(reward)
                    while self.windows[i]:
                        yield self._fold(self.windows[i], None)
                        self.windows[i].pop(0)
                    self.obs[i] = env.reset()
                elif len(self.windows[i]) == REWARD_STEPS:
                    yield self._fold(self.windows[i], self.obs[i])
                    self.windows[i].pop(0)

    @staticmethod
    def _fold(window, last_state):
        reward = sum(GAMMA ** k * item[2] for k, item in enumerate(window))
        return window[0][0], window[0][1], reward, last_state


def unpack_batch(batch, net):
    states, actions, rewards, not_done, last_states = [], [], [], [], []
    for i, (state, action, reward, last_state) in enumerate(batch):
        states.append(state)
        actions.append(action)
        rewards.append(reward)
        if last_state is not None:
            not_done.append(i)
            last_states.append(last_state)
    rewards = np.array(rewards, dtype=np.float32)
    if not_done:
        with torch.no_grad():
            last_vals = net(torch.from_numpy(np.stack(last_states)))[1].squeeze(1).numpy()
        rewards[not_done] += GAMMA ** REWARD_STEPS * last_vals
    return torch.from_numpy(np.stack(states)), torch.tensor(actions), torch.from_numpy(rewards)


torch.manual_seed(20)
net = CatchA2C(n_actions=3)
optimizer = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE, eps=1e-5)
source = ExperienceSource([CatchEnv(seed) for seed in range(NUM_ENVS)], net)
batch, updates = [], 0
for exp in source:
    batch.append(exp)
    if len(batch) < BATCH_SIZE:
        continue
    states_v, actions_t, vals_ref_v = unpack_batch(batch, net)
    batch.clear()

    optimizer.zero_grad()
    logits_v, value_v = net(states_v)
    loss_value_v = F.mse_loss(value_v.squeeze(-1), vals_ref_v)
    log_prob_v = F.log_softmax(logits_v, dim=1)
    adv_v = vals_ref_v - value_v.squeeze(-1).detach()
    log_prob_actions_v = adv_v * log_prob_v[range(BATCH_SIZE), actions_t]
    loss_policy_v = -log_prob_actions_v.mean()
    prob_v = F.softmax(logits_v, dim=1)
    entropy_loss_v = ENTROPY_BETA * (prob_v * log_prob_v).sum(dim=1).mean()
    (loss_policy_v + entropy_loss_v + loss_value_v).backward()
    nn_utils.clip_grad_norm_(net.parameters(), CLIP_GRAD)
    optimizer.step()

    updates += 1
    if updates % 20 == 0:
        print(f"update {updates}: reward {np.mean(source.total_rewards[-100:]):.2f} policy {loss_policy_v.item():.4f} value {loss_value_v.item():.4f}")
    if updates == UPDATES:
        break
