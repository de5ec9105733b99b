import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 64


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class EAST(nn.Module):
    def __init__(self):
        super(EAST, self).__init__()
        self.c1 = conv_bn(3, 16, 2)
        self.c2 = conv_bn(16, 32, 2)
        self.c3 = conv_bn(32, 48, 2)
        self.merge = conv_bn(80, 32)
        self.score = nn.Conv2d(32, 1, 1)
        self.loc = nn.Conv2d(32, 4, 1)
        self.angle = nn.Conv2d(32, 1, 1)

    def forward(self, img):
        f2 = self.c2(self.c1(img))
        f3 = F.interpolate(self.c3(f2), scale_factor=2, mode='bilinear', align_corners=True)
        y = self.merge(torch.cat((f2, f3), 1))
        score = torch.sigmoid(self.score(y))
        loc = torch.sigmoid(self.loc(y)) * SIZE
        angle = (torch.sigmoid(self.angle(y)) - 0.5) * math.pi
        return score, torch.cat((loc, angle), 1)


def dice_loss(gt_score, pred_score):
    inter = torch.sum(gt_score * pred_score)
    union = torch.sum(gt_score) + torch.sum(pred_score) + 1e-5
    return 1. - 2 * inter / union


def geo_loss(gt_geo, pred_geo):
    d1, d2, d3, d4, angle_gt = torch.split(gt_geo, 1, 1)
    p1, p2, p3, p4, angle_pred = torch.split(pred_geo, 1, 1)
    area_gt = (d1 + d2) * (d3 + d4)
    area_pred = (p1 + p2) * (p3 + p4)
    h = torch.min(d1, p1) + torch.min(d2, p2)
    w = torch.min(d3, p3) + torch.min(d4, p4)
    inter = h * w
    union = area_gt + area_pred - inter
    iou_map = -torch.log((inter + 1.0) / (union + 1.0))
    return iou_map, 1 - torch.cos(angle_pred - angle_gt)


class Loss(nn.Module):
    def __init__(self, weight_angle=10):
        super(Loss, self).__init__()
        self.weight_angle = weight_angle

    def forward(self, gt_score, pred_score, gt_geo, pred_geo):
        if torch.sum(gt_score) < 1:
            return torch.sum(pred_score + pred_geo) * 0
        classify_loss = dice_loss(gt_score, pred_score)
        iou_map, angle_map = geo_loss(gt_geo, pred_geo)
        angle_loss = torch.sum(angle_map * gt_score) / torch.sum(gt_score)
        iou_loss = torch.sum(iou_map * gt_score) / torch.sum(gt_score)
        return self.weight_angle * angle_loss + iou_loss + classify_loss


class Scenes(Dataset):
    """Street scenes, cropped at random; a box of text somewhere in most of them."""

    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.items = []
        for _ in range(n):
            img = rng.normal(0, 0.3, size=(3, SIZE, SIZE)).astype('float32')
            score = np.zeros((1, SIZE // 4, SIZE // 4), 'float32')
            geo = np.zeros((5, SIZE // 4, SIZE // 4), 'float32')
            if rng.random() < 0.6:
                x0, y0 = rng.integers(4, 24, size=2)
                w, h = rng.integers(20, 36), rng.integers(8, 16)
                img[:, y0:y0 + h, x0:x0 + w] += 1.5
                ys, xs = np.mgrid[0:SIZE:4, 0:SIZE:4]
                inside = (ys >= y0) & (ys < y0 + h) & (xs >= x0) & (xs < x0 + w)
                score[0] = inside
                geo[:4] = np.stack([ys - y0, y0 + h - ys, xs - x0, x0 + w - xs]) * inside
            self.items.append((img, score, geo))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def train(epochs=4, batch_size=2):
    torch.manual_seed(0)
    loader = DataLoader(Scenes(48), batch_size=batch_size, shuffle=True)
    model = EAST()
    criterion = Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[epochs // 2], gamma=0.1)
    model.train()
    for epoch in range(epochs):
        epoch_loss = 0
        for i, (img, gt_score, gt_geo) in enumerate(loader):
            pred_score, pred_geo = model(img)
            loss = criterion(gt_score, pred_score, gt_geo, pred_geo)
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if i % 8 == 0:
                print('Epoch [%d/%d] batch %d loss %.5f' % (epoch + 1, epochs, i, loss.item()))
        scheduler.step()
        print('epoch_loss is %.5f' % (epoch_loss / len(loader)))


if __name__ == '__main__':
    train()
