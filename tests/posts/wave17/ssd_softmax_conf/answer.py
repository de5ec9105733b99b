import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

NUM_CLASSES = 4
GRID = 8


class ShapesDetection(Dataset):
    """Pictures with one or two coloured squares; class 0 is the background."""

    def __init__(self, n=320):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        image = torch.rand(3, 64, 64, generator=g) * 0.2
        boxes, labels = [], []
        for _ in range(1 + index % 2):
            x, y = torch.randint(0, 48, (2,), generator=g).tolist()
            c = int(torch.randint(0, 3, (1,), generator=g))
            image[c, y:y + 16, x:x + 16] = 1.0
            boxes.append([x / 64, y / 64, (x + 16) / 64, (y + 16) / 64])
            labels.append(c + 1)
        return image, torch.tensor(boxes), torch.tensor(labels)


def collate(batch):
    images, boxes, labels = zip(*batch)
    return torch.stack(images), boxes, labels


def make_priors():
    centre = (torch.arange(GRID) + 0.5) / GRID
    cy, cx = torch.meshgrid(centre, centre, indexing='ij')
    return torch.stack([cx.flatten(), cy.flatten(), torch.full((GRID * GRID,), 0.25), torch.full((GRID * GRID,), 0.25)], 1)


def iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda t: (t[:, 2:] - t[:, :2]).prod(-1)
    return inter / (area(a)[:, None] + area(b)[None] - inter)


class MultiBoxLoss(nn.Module):
    def __init__(self, num_classes, overlap_thresh=0.3, negpos_ratio=3):
        super().__init__()
        self.num_classes, self.threshold, self.negpos_ratio = num_classes, overlap_thresh, negpos_ratio
        self.priors = make_priors()

    def match(self, boxes, labels):
        corners = torch.cat([self.priors[:, :2] - self.priors[:, 2:] / 2, self.priors[:, :2] + self.priors[:, 2:] / 2], 1)
        overlap, idx = iou(corners, boxes).max(1)
        matched = boxes[idx]
        centre = (matched[:, :2] + matched[:, 2:]) / 2
        loc = torch.cat([(centre - self.priors[:, :2]) / self.priors[:, 2:], (matched[:, 2:] - matched[:, :2]).log() - self.priors[:, 2:].log()], 1)
        conf = labels[idx].clone()
        conf[overlap < self.threshold] = 0
        return loc, conf

    def forward(self, loc_data, conf_data, boxes, labels):
        targets = [self.match(b, l) for b, l in zip(boxes, labels)]
        loc_t, conf_t = torch.stack([t[0] for t in targets]), torch.stack([t[1] for t in targets])
        pos = conf_t > 0
        num_pos = pos.sum()
        loss_l = F.smooth_l1_loss(loc_data[pos], loc_t[pos], reduction='sum')

        loss_c = F.cross_entropy(conf_data.transpose(1, 2), conf_t, reduction='none')
        negatives = loss_c.detach().masked_fill(pos, 0)
        rank = negatives.argsort(1, descending=True).argsort(1)
        neg = rank < (self.negpos_ratio * pos.sum(1, keepdim=True)).clamp(max=pos.shape[1] - 1)
        loss_c = loss_c[pos | neg].sum()
        return loss_l / num_pos, loss_c / num_pos


class SSD(nn.Module):
    def __init__(self):
        super().__init__()
        layers, cin = [], 3
        for cout in (16, 32, 64):
            layers += [nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)]
            cin = cout
        self.body = nn.Sequential(*layers, nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(inplace=True))
        self.loc, self.conf = nn.Conv2d(64, 4, 3, padding=1), nn.Conv2d(64, NUM_CLASSES, 3, padding=1)

    def forward(self, x):
        x = self.body(x)
        return self.loc(x).flatten(2).transpose(1, 2), self.conf(x).flatten(2).transpose(1, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--lr', type=float, default=5e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    loader = DataLoader(ShapesDetection(), batch_size=16, shuffle=True, collate_fn=collate)
    net, criterion = SSD(), MultiBoxLoss(NUM_CLASSES)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    for epoch in range(args.epochs):
        sums = torch.zeros(2)
        for images, boxes, labels in loader:
            loss_l, loss_c = criterion(*net(images), boxes, labels)
            optimizer.zero_grad()
            (loss_l + loss_c).backward()
            optimizer.step()
            sums += torch.stack([loss_l, loss_c]).detach()
        print(f'epoch {epoch}: loc {sums[0] / len(loader):.3f} conf {sums[1] / len(loader):.3f}')


if __name__ == '__main__':
    main()
