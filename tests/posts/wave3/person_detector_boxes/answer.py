import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)
CLASSES = {'background': 0, 'person': 1}
NUM_CLASSES = len(CLASSES)


class Street(Dataset):
    """Images with one to three boxes [x1, y1, x2, y2, label] in relative coordinates."""

    def __len__(self):
        return 18

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        n = int(torch.randint(1, 4, (1,), generator=g))
        corner = torch.rand(n, 2, generator=g) * 0.5
        boxes = torch.cat([corner, corner + 0.1 + 0.4 * torch.rand(n, 2, generator=g)], dim=1)
        label = torch.full((n, 1), float(CLASSES['person'] - 1))
        return torch.rand(3, 96, 96, generator=g), torch.cat([boxes, label], dim=1)


def detection_collate(batch):
    return torch.stack([b[0] for b in batch]), [b[1] for b in batch]


def make_priors(size):
    c = (torch.arange(size) + 0.5) / size
    y, x = torch.meshgrid(c, c, indexing='ij')
    centre = torch.stack([x, y], dim=-1).view(-1, 2)
    half = torch.full_like(centre, 0.17)
    return torch.cat([centre - half, centre + half], dim=1)


def jaccard(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(2)
    area = lambda t: (t[:, 2:] - t[:, :2]).prod(1)
    return inter / (area(a)[:, None] + area(b)[None] - inter)


def match(truth, priors, threshold=0.35):
    overlap = jaccard(truth[:, :4], priors)
    best, idx = overlap.max(dim=0)
    conf = truth[idx, 4].long() + 1
    conf[best < threshold] = 0
    return truth[idx, :4] - priors, conf


class TinySSD(nn.Module):
    def __init__(self):
        super().__init__()
        chans = [3, 16, 32, 64]
        self.base = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.ReLU()) for a, b in zip(chans, chans[1:])])
        self.loc = nn.Conv2d(64, 4, 3, padding=1)
        self.conf = nn.Conv2d(64, NUM_CLASSES, 3, padding=1)

    def forward(self, x):
        f = self.base(x)
        return self.loc(f).permute(0, 2, 3, 1).flatten(1, 2), self.conf(f).permute(0, 2, 3, 1).flatten(1, 2)


priors = make_priors(12)
net = TinySSD()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
for it, (images, targets) in enumerate(DataLoader(Street(), batch_size=8, collate_fn=detection_collate)):
    loc_p, conf_p = net(images)
    loc_t, conf_t = map(torch.stack, zip(*[match(t, priors) for t in targets]))
    pos = conf_t > 0
    loss_l = F.smooth_l1_loss(loc_p[pos], loc_t[pos], reduction='sum')
    loss_c = F.cross_entropy(conf_p.flatten(0, 1), conf_t.flatten(), reduction='sum')
    loss = (loss_l + loss_c) / pos.sum().clamp(min=1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('iter', it, 'loss %.4f' % loss.item())
