from __future__ import print_function

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SupConLoss(nn.Module):
    """Supervised contrastive loss over features of shape [bsz, n_views, dim]."""

    def __init__(self, temperature=0.07, base_temperature=0.07):
        super(SupConLoss, self).__init__()
        self.temperature = temperature
        self.base_temperature = base_temperature

    def forward(self, features, labels):
        if len(features.shape) < 3:
            raise ValueError('features needs to be [bsz, n_views, ...]')
        bsz, n_views = features.shape[:2]
        labels = labels.contiguous().view(-1, 1)
        mask = torch.eq(labels, labels.T).float()
        contrast = torch.cat(torch.unbind(features, dim=1), dim=0)

        logits = torch.matmul(contrast, contrast.T) / self.temperature
        logits = logits - logits.max(dim=1, keepdim=True)[0].detach()

        mask = mask.repeat(n_views, n_views)
        logits_mask = 1 - torch.eye(bsz * n_views, device=features.device)
        mask = mask * logits_mask

        exp_logits = torch.exp(logits) * logits_mask
        log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
        pos_count = mask.sum(1)
        mean_log_prob_pos = (mask * log_prob).sum(1) / pos_count
        loss = -(self.temperature / self.base_temperature) * mean_log_prob_pos
        return loss.mean()


class SupConNet(nn.Module):
    def __init__(self, in_dim, hidden=64, feat_dim=16):
        super(SupConNet, self).__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, feat_dim))

    def forward(self, x):
        return F.normalize(self.head(self.encoder(x)), dim=1)


class AverageMeter(object):
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def parse_option():
    parser = argparse.ArgumentParser('supervised contrastive training on sensor windows')
    parser.add_argument('--batch_size', type=int, default=16)
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--learning_rate', type=float, default=0.05)
    parser.add_argument('--temp', type=float, default=0.1)
    parser.add_argument('--n_cls', type=int, default=12)
    return parser.parse_args()


def sensor_windows(n, n_cls, dim=40):
    proto = torch.randn(n_cls, dim, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(0, n_cls, (n,))
    return proto[labels] + 0.8 * torch.randn(n, dim), labels


def train(loader, model, criterion, optimizer):
    model.train()
    meter = AverageMeter()
    for windows, labels in loader:
        features = model(windows).unsqueeze(1)
        loss = criterion(features, labels)
        meter.update(loss.item(), labels.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return meter.avg


def nearest_class_accuracy(model, train_data, test_data, n_cls):
    model.eval()
    with torch.no_grad():
        z, zt = model.encoder(train_data[0]), model.encoder(test_data[0])
        centres = torch.stack([z[train_data[1] == c].mean(0) for c in range(n_cls)])
        pred = torch.cdist(zt, centres).argmin(dim=1)
    return (pred == test_data[1]).float().mean().item()


def main():
    opt = parse_option()
    torch.manual_seed(0)
    train_data, test_data = sensor_windows(640, opt.n_cls), sensor_windows(240, opt.n_cls)
    loader = DataLoader(TensorDataset(*train_data), batch_size=opt.batch_size, shuffle=True, drop_last=True)
    model = SupConNet(train_data[0].size(1))
    criterion = SupConLoss(temperature=opt.temp)
    optimizer = torch.optim.SGD(model.parameters(), lr=opt.learning_rate, momentum=0.9)
    for epoch in range(1, opt.epochs + 1):
        loss = train(loader, model, criterion, optimizer)
        acc = nearest_class_accuracy(model, train_data, test_data, opt.n_cls)
        print('epoch {}, loss {:.4f}, nearest class accuracy {:.3f}'.format(epoch, loss, acc))


if __name__ == '__main__':
    main()
