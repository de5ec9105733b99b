import copy
from argparse import Namespace

import torch
import torch.nn as nn
import torch.nn.functional as F

args = Namespace(frames=4, screen=64, actions=5, hidden=96, gamma=0.99, lr=1e-4)


class NatureCNN(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.conv1 = nn.Conv2d(args.frames, 32, 8, stride=4)
        self.conv2 = nn.Conv2d(32, 64, 4, stride=2)
        self.conv3 = nn.Conv2d(64, 64, 3, stride=1)
        self.fc = nn.Linear(64 * 7 * 7, args.hidden)
        self.q = nn.Linear(args.hidden, args.actions)

    def forward(self, obs):
        x = F.relu(self.conv1(obs / 255.0))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        x = F.relu(self.fc(x.flatten(start_dim=1)))
        return self.q(x)


def td_loss(online, target, batch, gamma):
    obs, action, reward, next_obs, done = batch
    q = online(obs)
    chosen = q.gather(1, action).squeeze(1)
    with torch.no_grad():
        best = target(next_obs).max(dim=1).values
        goal = reward + gamma * (1 - done) * best
    return F.smooth_l1_loss(chosen, goal), q


def main(obs, action, reward, next_obs, done):
    online = NatureCNN(args)
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
    batch = (obs, action, reward, next_obs, done)
    loss, q = td_loss(online, target, batch, args.gamma)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss, q


def example_inputs():
    size = (2, 6, args.frames, args.screen, args.screen)
    frames = torch.randint(0, 256, size).float()
    action = torch.randint(0, args.actions, (6,))
    return frames[0], action, torch.randn(6), frames[1], torch.zeros(6)
