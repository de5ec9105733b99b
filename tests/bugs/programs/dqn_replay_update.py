import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA = 0.99


class QNet(nn.Module):
    def __init__(self, n_actions):
        super().__init__()
        self.conv = nn.Conv2d(4, 16, 8, stride=4)
        self.fc = nn.LazyLinear(n_actions)

    def forward(self, obs):
        x = F.relu(self.conv(obs / 255.0))
        return self.fc(x.flatten(1))


class Model(nn.Module):
    """One TD update on a sampled batch."""

    def __init__(self, n_actions=6):
        super().__init__()
        self.policy = QNet(n_actions)
        self.target = QNet(n_actions)

    def forward(self, obs, action, reward, next_obs, done):
        q = self.policy(obs)
        q_taken = q.gather(1, action)
        with torch.no_grad():
            q_next = self.target(next_obs).amax(dim=1)
            backup = reward + GAMMA * (1 - done) * q_next
        return F.smooth_l1_loss(q_taken, backup)


def example_inputs():
    frames = torch.randint(0, 256, (8, 4, 36, 36)).float()
    nxt = torch.randint(0, 256, (8, 36, 36, 4)).float()
    action = torch.randint(0, 6, (8,))
    return frames, action, torch.randn(8), nxt, torch.zeros(8)
