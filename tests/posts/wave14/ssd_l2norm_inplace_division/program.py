import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import init


class L2Norm(nn.Module):
    def __init__(self, n_channels, scale):
        super(L2Norm, self).__init__()
        self.n_channels = n_channels
        self.gamma = scale
        self.eps = 1e-10
        self.weight = nn.Parameter(torch.empty(n_channels))
        init.constant_(self.weight, self.gamma)

    def forward(self, x):
        norm = x.pow(2).sum(dim=1, keepdim=True).sqrt() + self.eps
        x /= norm
        return self.weight.view(1, -1, 1, 1) * x


class TinySSD(nn.Module):
    """two source maps, each with a localisation and a confidence head"""

    def __init__(self, num_classes, num_anchors=2):
        super(TinySSD, self).__init__()
        self.num_classes = num_classes
        self.base = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.norm = L2Norm(32, 20)
        self.extra = nn.Sequential(
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU())
        self.loc = nn.ModuleList([nn.Conv2d(c, num_anchors * 4, 3, padding=1) for c in (32, 64)])
        self.conf = nn.ModuleList([nn.Conv2d(c, num_anchors * num_classes, 3, padding=1) for c in (32, 64)])

    def forward(self, x):
        first = self.base(x)
        second = self.extra(first)
        sources = [self.norm(first), second]
        loc, conf = [], []
        for s, l, c in zip(sources, self.loc, self.conf):
            loc.append(l(s).permute(0, 2, 3, 1).reshape(x.size(0), -1, 4))
            conf.append(c(s).permute(0, 2, 3, 1).reshape(x.size(0), -1, self.num_classes))
        return torch.cat(loc, 1), torch.cat(conf, 1)


class MultiBoxLoss(nn.Module):
    def __init__(self, neg_ratio=3):
        super(MultiBoxLoss, self).__init__()
        self.neg_ratio = neg_ratio

    def forward(self, loc_p, conf_p, loc_t, conf_t):
        pos = conf_t > 0
        n = max(int(pos.sum()), 1)
        loss_l = F.smooth_l1_loss(loc_p[pos], loc_t[pos], reduction='sum')
        ce = F.cross_entropy(conf_p.reshape(-1, conf_p.size(2)), conf_t.reshape(-1), reduction='none')
        ce = ce.view_as(conf_t)
        hard = ce.detach().masked_fill(pos, -1).flatten().topk(self.neg_ratio * n).indices
        loss_c = ce[pos].sum() + ce.flatten()[hard].sum()
        return loss_l / n, loss_c / n


def batch(gen, n_priors, n=8, num_classes=4):
    images = torch.rand(n, 3, 64, 64, generator=gen)
    conf = torch.zeros(n, n_priors, dtype=torch.long)
    for i in range(n):
        where = torch.randint(0, n_priors, (6,), generator=gen)
        conf[i, where] = torch.randint(1, num_classes, (6,), generator=gen)
    return images, torch.randn(n, n_priors, 4, generator=gen), conf


def train(steps=10):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(3)
    net = TinySSD(num_classes=4)
    criterion = MultiBoxLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    n_priors = 2 * (16 * 16 + 8 * 8)
    for it in range(steps):
        images, loc_t, conf_t = batch(gen, n_priors)
        loc, conf = net(images)
        loss_l, loss_c = criterion(loc, conf, loc_t, conf_t)
        loss = loss_l + loss_c
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
        if it % 3 == 0:
            print('iter %d || L: %.4f C: %.4f' % (it, loss_l.item(), loss_c.item()))


if __name__ == '__main__':
    train()
