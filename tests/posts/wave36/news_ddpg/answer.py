# DDPG on a log of (frame, next frame) pairs of a recommender, own data
import copy

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAME_SIZE = 10
EMB_DIM = 100

rng = np.random.default_rng(11)
torch.manual_seed(11)


class Actor(nn.Module):
    def __init__(self, input_dim, action_dim, hidden_size, init_w=2e-1):
        super().__init__()
        self.drop_layer = nn.Dropout(p=0.5)
        self.linear1 = nn.Linear(input_dim, hidden_size)
        self.linear2 = nn.Linear(hidden_size, hidden_size)
        self.linear3 = nn.Linear(hidden_size, action_dim)
        self.linear3.weight.data.uniform_(-init_w, init_w)

    def forward(self, state):
        h = self.drop_layer(F.relu(self.linear1(state)))
        h = self.drop_layer(F.relu(self.linear2(h)))
        return self.linear3(h)


class Critic(nn.Module):
    def __init__(self, input_dim, action_dim, hidden_size, init_w=3e-5):
        super().__init__()
        self.drop_layer = nn.Dropout(p=0.5)
        self.linear1 = nn.Linear(input_dim + action_dim, hidden_size)
        self.linear2 = nn.Linear(hidden_size, hidden_size)
        self.linear3 = nn.Linear(hidden_size, 1)
        self.linear3.weight.data.uniform_(-init_w, init_w)

    def forward(self, state, action):
        x = torch.cat([state, action], 1)
        x = self.drop_layer(F.relu(self.linear1(x)))
        x = self.drop_layer(F.relu(self.linear2(x)))
        return self.linear3(x)


# ---------------------------------------------------------------- data
articles = torch.from_numpy(rng.normal(size=(300, EMB_DIM)).astype("float32"))
log = pd.DataFrame({
    "user": np.repeat(np.arange(40), 30),
    "article": rng.integers(0, 300, size=1200),
    "rating": rng.choice([-1.0, 0.0, 1.0], size=1200),
})


def frames(df):
    states, actions, rewards, next_states = [], [], [], []
    for _, h in df.groupby("user"):
        items = articles[h["article"].values]
        r = torch.tensor(h["rating"].values, dtype=torch.float32)
        for t in range(len(h) - FRAME_SIZE):
            now, nxt = slice(t, t + FRAME_SIZE), slice(t + 1, t + 1 + FRAME_SIZE)
            states.append(torch.cat([items[now].flatten(), r[now]]))
            next_states.append(torch.cat([items[nxt].flatten(), r[nxt]]))
            actions.append(items[t + FRAME_SIZE])
            rewards.append(r[t + FRAME_SIZE])
    return torch.stack(states), torch.stack(actions), torch.stack(rewards).unsqueeze(1), torch.stack(next_states)


state, action, reward, next_state = frames(log)
print("transitions", len(state))

# ---------------------------------------------------------------- networks
value_net = Critic(1010, 100, 256, 54e-2)
policy_net = Actor(1010, 100, 256, 6e-1)
target_value_net = copy.deepcopy(value_net).eval()
target_policy_net = copy.deepcopy(policy_net).eval()

value_optimizer = torch.optim.Adam(value_net.parameters(), lr=1e-4, weight_decay=1e-2)
policy_optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-4, weight_decay=1e-2)


def soft_update(net, target, tau=1e-3):
    for p, tp in zip(net.parameters(), target.parameters()):
        tp.data.mul_(1 - tau).add_(p.data, alpha=tau)


def ddpg_update(batch, step, gamma=0.99):
    s, a, r, s2 = batch
    with torch.no_grad():
        next_action = target_policy_net(s2)
        target = r + gamma * target_value_net(s2, next_action)
        target = target.clamp(-10, 10)
    value_loss = F.mse_loss(value_net(s, a), target)
    value_optimizer.zero_grad()
    value_loss.backward()
    value_optimizer.step()

    policy_loss = -value_net(s, policy_net(s)).mean()
    if step % 3 == 0:
        policy_optimizer.zero_grad()
        policy_loss.backward()
        nn.utils.clip_grad_norm_(policy_net.parameters(), 1.0)
        policy_optimizer.step()
        soft_update(value_net, target_value_net)
        soft_update(policy_net, target_policy_net)
    return value_loss.item(), policy_loss.item()


for step in range(40):
    idx = torch.randint(0, len(state), (25,))
    losses = ddpg_update((state[idx], action[idx], reward[idx], next_state[idx]), step)
    if step % 10 == 0:
        print("step %d value %.4f policy %.4f" % (step, *losses))
