"""Energy-based age regression with an MDN proposal trained by NCE."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal
from torch.utils.data import DataLoader, TensorDataset

K = 4
num_samples = 64
batch_size = 32
num_epochs = 4
learning_rate = 1e-3


class FeatureNet(nn.Module):
    def __init__(self, hidden_dim=64):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.fc = nn.Linear(32, hidden_dim)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return F.relu(self.fc(x.mean(dim=(2, 3))))


class ProposalNet(nn.Module):
    def __init__(self, hidden_dim=64):
        super().__init__()
        self.mean = nn.Linear(hidden_dim, K)
        self.log_sigma2 = nn.Linear(hidden_dim, K)
        self.logits = nn.Linear(hidden_dim, K)

    def forward(self, feat):
        return self.mean(feat), self.log_sigma2(feat), torch.softmax(self.logits(feat), dim=1)


class EnergyNet(nn.Module):
    def __init__(self, hidden_dim=64):
        super().__init__()
        self.fc_y = nn.Linear(1, 32)
        self.fc1 = nn.Linear(hidden_dim + 32, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, 1)

    def forward(self, feat, y):
        yf = F.relu(self.fc_y(y.unsqueeze(-1)))
        feat = feat.unsqueeze(1).expand(-1, y.shape[1], -1)
        return self.fc2(F.relu(self.fc1(torch.cat([feat, yf], dim=-1)))).squeeze(-1)


def make_faces(n):
    ages = torch.randint(16, 78, (n,)).float()
    grid = torch.linspace(0, 1, 32)
    faces = torch.sin(grid.view(1, 1, 1, 32) * ages.view(-1, 1, 1, 1) * 0.5)
    faces = faces.expand(-1, 1, 32, 32) + 0.1 * torch.randn(n, 1, 32, 32)
    return TensorDataset(faces, ages)


torch.manual_seed(5)
loader = DataLoader(make_faces(512), batch_size=batch_size, shuffle=True, drop_last=True)

features, proposal, energy = FeatureNet(), ProposalNet(), EnergyNet()
params = list(features.parameters()) + list(proposal.parameters()) + list(energy.parameters())
optimizer = torch.optim.Adam(params, lr=learning_rate)


def mixture_log_prob(distr, weights, ys):
    # ys: (batch, samples) -> (batch, samples)
    log_q_ys_K = distr.log_prob(ys.unsqueeze(2))
    log_q_ys = torch.logsumexp(torch.log(weights.unsqueeze(1)) + log_q_ys_K, dim=2)
    return log_q_ys


for epoch in range(num_epochs):
    epoch_nce, epoch_nll = [], []
    for xs, ys in loader:
        feat = features(xs)
        means, log_sigma2s, weights = proposal(feat.detach())
        q_distr = Normal(means.unsqueeze(1), torch.exp(log_sigma2s / 2.0).unsqueeze(1))

        with torch.no_grad():
            comp = torch.multinomial(weights, num_samples, replacement=True)
            y_samples = means.gather(1, comp) + torch.exp(log_sigma2s / 2.0).gather(1, comp) * torch.randn(comp.shape)

        y_all = torch.cat([ys.unsqueeze(1), y_samples], dim=1)
        log_q = mixture_log_prob(q_distr, weights, y_all)
        f = energy(feat, y_all)

        scores = f - log_q.detach()
        nce = -torch.mean(scores[:, 0] - torch.logsumexp(scores, dim=1))
        nll = -torch.mean(log_q[:, 0])
        loss = nce + nll

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_nce.append(nce.item())
        epoch_nll.append(nll.item())
    print("epoch: %d | nce: %.4f | nll: %.4f" % (
        epoch + 1, sum(epoch_nce) / len(epoch_nce), sum(epoch_nll) / len(epoch_nll)))

with torch.no_grad():
    xs, ys = next(iter(loader))
    feat = features(xs)
    grid = torch.arange(0, 101).float().expand(xs.shape[0], -1)
    pred = grid.gather(1, energy(feat, grid).argmax(dim=1, keepdim=True)).squeeze(1)
    print("MAE %.3f, uniform entropy %.3f" % ((pred - ys).abs().mean().item(), math.log(101)))
