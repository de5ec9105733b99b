import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser(description='moment grounding with A2C')
parser.add_argument('--batch_size', type=int, default=16)
parser.add_argument('--num_steps', type=int, default=5)
parser.add_argument('--gamma', type=float, default=0.4)
parser.add_argument('--entropy_coef', type=float, default=0.1)
parser.add_argument('--lr', type=float, default=1e-3)
parser.add_argument('--epochs', type=int, default=2)
opt = parser.parse_args()

UNITS, FEAT = 20, 32


class MomentDataset(Dataset):
    def __init__(self, n):
        rng = np.random.RandomState(0)
        self.video = torch.from_numpy(rng.normal(size=(n, UNITS, FEAT)).astype('float32'))
        self.query = torch.from_numpy(rng.normal(size=(n, 24)).astype('float32'))
        start = rng.randint(0, UNITS - 6, n)
        self.span = torch.from_numpy(np.stack([start, start + rng.randint(3, 6, n)], 1))
        for i, (s, e) in enumerate(self.span.tolist()):
            self.video[i, s:e + 1, :24] += self.query[i]

    def __len__(self):
        return len(self.query)

    def __getitem__(self, i):
        return self.video[i], self.query[i], self.span[i].float() / (UNITS - 1)


class Agent(nn.Module):
    def __init__(self, hidden=64, num_actions=7):
        super(Agent, self).__init__()
        self.fuse = nn.Linear(2 * FEAT + 24 + 2, hidden)
        self.gru = nn.GRUCell(hidden, hidden)
        self.actor = nn.Linear(hidden, num_actions)
        self.critic = nn.Linear(hidden, 1)
        self.loc_head = nn.Linear(hidden, 2)

    def forward(self, glob, local, query, loc, h):
        x = F.relu(self.fuse(torch.cat([glob, local, query, loc], dim=1)))
        h = self.gru(x, h)
        return h, self.actor(h), self.critic(h), torch.sigmoid(self.loc_head(h))


MOVES = torch.tensor([[1, 1], [-1, -1], [1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]]).float() * 2


def move(bounds, action):
    new = (bounds + MOVES[action]).clamp(0, UNITS - 1)
    bad = new[:, 1] <= new[:, 0]
    return torch.where(bad[:, None], bounds, new)


def tiou(a, b):
    inter = (torch.min(a[:, 1], b[:, 1]) - torch.max(a[:, 0], b[:, 0])).clamp(min=0)
    union = torch.max(a[:, 1], b[:, 1]) - torch.min(a[:, 0], b[:, 0])
    return inter / union.clamp(min=1e-6)


def clip_feature(video, bounds):
    pos = torch.arange(UNITS).float()
    m = ((pos >= bounds[:, :1]) & (pos <= bounds[:, 1:])).float()
    return (video * m[:, :, None]).sum(1) / m.sum(1, keepdim=True)


torch.manual_seed(0)
loader = DataLoader(MomentDataset(96), batch_size=opt.batch_size, shuffle=True)
net = Agent()
optimizer = torch.optim.Adam(net.parameters(), lr=opt.lr)


def train(epoch):
    net.train()
    for idx, (video, query, gt) in enumerate(loader):
        B = video.size(0)
        values = torch.zeros(opt.num_steps, B)
        log_probs = torch.zeros(opt.num_steps, B)
        entropies = torch.zeros(opt.num_steps, B)
        rewards = torch.zeros(opt.num_steps, B)
        ious = torch.zeros(opt.num_steps, B)
        locations = torch.zeros(opt.num_steps, B, 2)

        bounds = torch.tensor([5.0, 14.0]).repeat(B, 1)
        h = torch.zeros(B, 64)
        iou = tiou(bounds / (UNITS - 1), gt)
        for step in range(opt.num_steps):
            h, logit, value, location = net(video.mean(1), clip_feature(video, bounds), query, bounds / (UNITS - 1), h)
            logp = F.log_softmax(logit, dim=1)
            prob = logp.exp()
            action = prob.multinomial(1).squeeze(1)
            entropies[step] = -(logp * prob).sum(1)
            bounds = move(bounds, action)
            new_iou = tiou(bounds / (UNITS - 1), gt)
            values[step] = value.squeeze(1)
            log_probs[step] = logp.gather(1, action[:, None]).squeeze(1)
            ious[step] = iou
            rewards[step] = torch.sign(new_iou - iou) - 0.01 * step
            iou = new_iou

        R = values[-1].detach()
        policy_loss, value_loss = 0, 0
        for k in reversed(range(opt.num_steps)):
            R = rewards[k] + opt.gamma * R
            adv = R - values[k]
            value_loss = value_loss + adv.pow(2).mean()
            policy_loss = policy_loss - (log_probs[k] * adv.detach()).mean() - opt.entropy_coef * entropies[k].mean()

        close = (ious > 0.3).float()
        loc_err = (locations - gt.unsqueeze(0)).abs().sum(dim=2)
        loc_loss = (loc_err * close).sum() / close.sum().clamp(min=1)

        optimizer.zero_grad()
        (policy_loss + value_loss + loc_loss).backward()
        optimizer.step()
        print('epoch %d batch %d policy %.4f value %.4f loc %.4f reward %.3f' % (
            epoch, idx, policy_loss.item(), value_loss.item(), loc_loss.item(), rewards.sum(0).mean().item()))


for epoch in range(opt.epochs):
    train(epoch)
