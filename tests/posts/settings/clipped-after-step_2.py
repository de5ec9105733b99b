# line 27: the norm of the critic's gradients is limited before the backward pass has made them
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(87)
torch.manual_seed(87)


def mlp(a, b):
    return nn.Sequential(nn.Linear(a, 32), nn.ReLU(), nn.Linear(32, b))


actor, critic = mlp(5, 2), mlp(7, 1)
opt_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=3e-3)


def limit(module, most=0.5):
    return nn.utils.clip_grad_norm_(module.parameters(), most)


def update_critic(state, action, reward):
    value = critic(torch.cat([state, action], dim=1)).squeeze(1)
    loss = nn.functional.mse_loss(value, reward)
    opt_critic.zero_grad(set_to_none=True)
    limit(critic)
    loss.backward()
    opt_critic.step()
    return loss.item()


def update_actor(state):
    action = torch.tanh(actor(state))
    loss = -critic(torch.cat([state, action], dim=1)).mean()
    opt_actor.zero_grad(set_to_none=True)
    loss.backward()
    limit(actor)
    opt_actor.step()
    return loss.item()


state = torch.tensor(rng.normal(size=(600, 5)), dtype=torch.float32)
action = torch.tensor(rng.uniform(-1, 1, size=(600, 2)), dtype=torch.float32)
reward = 5 * (state[:, :2] * action).sum(1) - action.square().sum(1)
for it in range(120):
    rows = torch.from_numpy(rng.choice(600, 48, replace=False))
    q_loss = update_critic(state[rows], action[rows], reward[rows])
    pi_loss = update_actor(state[rows])
    if it % 30 == 0:
        print(it, q_loss, pi_loss)
