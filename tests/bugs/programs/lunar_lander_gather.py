import random
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "state action reward next_state done")
GAMMA = 0.99


def q_net():
    return nn.Sequential(
        nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
    )


def sample(memory, batch_size):
    batch = Transition(*zip(*random.sample(memory, batch_size)))
    states = torch.stack(batch.state)
    actions = torch.tensor(batch.action, dtype=torch.long)
    rewards = torch.tensor(batch.reward).unsqueeze(1)
    next_states = torch.stack(batch.next_state)
    dones = torch.tensor(batch.done, dtype=torch.float32).unsqueeze(1)
    return states, actions, rewards, next_states, dones


def main(frames):
    policy, target = q_net(), q_net()
    target.load_state_dict(policy.state_dict())
    memory = [
        Transition(s, random.randrange(4), random.random(), n, i % 9 == 8)
        for i, (s, n) in enumerate(zip(frames, frames[1:]))
    ]
    states, actions, rewards, next_states, dones = sample(memory, 16)
    with torch.no_grad():
        best = target(next_states).max(1, keepdim=True)[0]
        y = rewards + GAMMA * best * (1 - dones)
    q = policy(states).gather(1, actions)
    loss = F.smooth_l1_loss(q, y)
    loss.backward()
    return loss, q


def example_inputs():
    return (torch.randn(40, 8),)
