import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision.models import resnet18


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        net = resnet18(weights=None)
        self.stem = nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool)
        self.layer1, self.layer2, self.layer3 = net.layer1, net.layer2, net.layer3

    def forward(self, x):
        x = self.layer1(self.stem(x))
        c3 = self.layer2(x)
        return c3, self.layer3(c3)


class BBoxHead(nn.Module):
    def __init__(self, in_channels=(128, 256), num_classes=4, num_anchors=3):
        super().__init__()
        self.num_classes = num_classes
        self.cls_convs = nn.ModuleList(nn.Conv2d(c, num_anchors * num_classes, 3, padding=1) for c in in_channels)
        self.reg_convs = nn.ModuleList(nn.Conv2d(c, num_anchors * 4, 3, padding=1) for c in in_channels)

    def forward(self, feats):
        cls = [c(f).flatten(2).reshape(f.size(0), -1, self.num_classes) for c, f in zip(self.cls_convs, feats)]
        reg = [r(f).flatten(2).reshape(f.size(0), -1, 4) for r, f in zip(self.reg_convs, feats)]
        return torch.cat(cls, 1), torch.cat(reg, 1)

    def loss(self, cls, reg, labels, deltas):
        return dict(loss_cls=F.cross_entropy(cls.flatten(0, 1), labels.flatten()),
                    loss_bbox=F.smooth_l1_loss(reg, deltas))


class SingleStageDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.bbox_head = BBoxHead()
        for v in self.backbone.parameters():
            v.requires_grad = False
        for v in self.bbox_head.parameters():
            v.requires_grad = False

    def forward_train(self, img, targets):
        cls, reg = self.bbox_head(self.backbone(img))
        g = torch.Generator().manual_seed(targets)
        labels = torch.randint(0, 4, cls.shape[:2], generator=g)
        deltas = torch.randn(reg.shape, generator=g)
        return self.bbox_head.loss(cls, reg, labels, deltas)


def main():
    parser = argparse.ArgumentParser(description='Train a detector')
    parser.add_argument('--iters', type=int, default=2)
    parser.add_argument('--lr', type=float, default=1e-3)
    args = parser.parse_args()

    model = SingleStageDetector()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    for it in range(args.iters):
        losses = model.forward_train(torch.rand(2, 3, 96, 96), targets=it)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(it, {k: round(v.item(), 4) for k, v in losses.items()})


if __name__ == '__main__':
    main()
