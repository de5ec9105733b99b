import torch
import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, s_size=6, h_size=24, a_size=3):
        super(Policy, self).__init__()
        self.fc1 = nn.Linear(s_size, h_size)
        self.fc2 = nn.Linear(h_size, a_size)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.softmax(x, dim=0)

    def act(self, state):
        probs = self.forward(state)
        action = probs.argmax(dim=-1)
        return action, probs


class Model(nn.Module):
    """REINFORCE surrogate over a batch of states."""

    def __init__(self):
        super().__init__()
        self.policy = Policy()

    def forward(self, states, returns):
        action, probs = self.policy.act(states)
        logp = probs.gather(1, action[:, None]).squeeze(1).log()
        return probs, -(logp * returns)


def example_inputs():
    return torch.randn(8, 6), torch.randn(8)
