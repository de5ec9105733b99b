"""Adversarial domain adaptation of sensor features: extractor against domain critic."""
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
DIM, CLASSES = 10, 4


def domain(n, shift):
    y = torch.randint(0, CLASSES, (n,))
    x = torch.randn(n, DIM)
    x[torch.arange(n), y] += 3.0
    return TensorDataset(x + shift, y)


source = DataLoader(domain(256, 0.0), batch_size=32, shuffle=True, drop_last=True)
target = DataLoader(domain(256, 1.5), batch_size=32, shuffle=True, drop_last=True)

extractor = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
classifier = nn.Linear(16, CLASSES)
critic = nn.Sequential(nn.Linear(16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

opt_task = torch.optim.Adam(itertools.chain(extractor.parameters(), classifier.parameters()), lr=1e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)


def domain_loss(logit_s, logit_t):
    real = F.binary_cross_entropy_with_logits(logit_s, torch.ones_like(logit_s))
    fake = F.binary_cross_entropy_with_logits(logit_t, torch.zeros_like(logit_t))
    return 0.5 * (real + fake)


def train_step(xs, ys, xt, lam):
    feat_s, feat_t = extractor(xs), extractor(xt)

    logit_s = critic(feat_s)
    logit_t = critic(feat_t)
    loss_critic = domain_loss(logit_s, logit_t)
    opt_critic.zero_grad()
    loss_critic.backward(retain_graph=True)
    opt_critic.step()

    task = F.cross_entropy(classifier(feat_s), ys)
    confuse = domain_loss(critic(feat_t), critic(feat_s))
    loss_task = task + lam * confuse
    opt_task.zero_grad()
    loss_task.backward()
    opt_task.step()
    return task.item(), loss_critic.item()


@torch.no_grad()
def accuracy(loader):
    hit = n = 0
    for x, y in loader:
        hit += (classifier(extractor(x)).argmax(-1) == y).sum().item()
        n += len(y)
    return hit / n


for epoch in range(4):
    lam = min(1.0, epoch / 4 + 0.1)
    for (xs, ys), (xt, _) in zip(source, target):
        task, adv = train_step(xs, ys, xt, lam)
    print(f"epoch {epoch} task {task:.3f} critic {adv:.3f} "
          f"source {accuracy(source):.2f} target {accuracy(target):.2f}")
