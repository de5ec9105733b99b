import argparse
import math

import torch
import torch.nn as nn
from torch.optim import SGD
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

hyp = {"lr0": 0.02, "lrf": 0.1, "momentum": 0.9, "weight_decay": 5e-4, "box": 0.5, "cls": 0.5, "obj": 1.0}


class Conv(nn.Module):
    def __init__(self, c1, c2, k=3, s=1):
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.cv1 = Conv(c, c // 2, 1)
        self.cv2 = Conv(c // 2, c, 3)

    def forward(self, x):
        return x + self.cv2(self.cv1(x))


class Detect(nn.Module):
    def __init__(self, c, nc):
        super().__init__()
        self.m = nn.Conv2d(c, 5 + nc, 1)

    def forward(self, x):
        return self.m(x).permute(0, 2, 3, 1)


class Detector(nn.Module):
    def __init__(self, nc):
        super().__init__()
        self.model = nn.Sequential(
            Conv(3, 16, 3, 2), Conv(16, 32, 3, 2), Bottleneck(32),
            Conv(32, 64, 3, 2), Bottleneck(64), Detect(64, nc),
        )

    def forward(self, x):
        return self.model(x)


def compute_loss(pred, target):
    mask = target[..., 4] > 0
    lbox = (pred[..., :4].sigmoid() - target[..., :4])[mask].abs().mean()
    lobj = nn.functional.binary_cross_entropy_with_logits(pred[..., 4], target[..., 4])
    lcls = nn.functional.binary_cross_entropy_with_logits(pred[..., 5:][mask], target[..., 5:][mask])
    return hyp["box"] * lbox + hyp["obj"] * lobj + hyp["cls"] * lcls


def fake_dataset(n, nc, size=64):
    g = torch.Generator().manual_seed(0)
    images = torch.rand(n, 3, size, size, generator=g)
    target = torch.rand(n, size // 8, size // 8, 5 + nc, generator=g)
    target[..., 4] = (target[..., 4] > 0.9).float()
    target[..., 5:] = nn.functional.one_hot(target[..., 5:].argmax(-1), nc).float()
    return TensorDataset(images, target)


def train(opt):
    torch.manual_seed(0)
    model = Detector(opt.nc)
    if opt.weights:
        model.load_state_dict(torch.load(opt.weights), strict=False)
    before = {k: v.clone() for k, v in model.named_parameters()}

    freeze = ["model.%d." % i for i in range(opt.freeze)]
    for k, v in model.named_parameters():
        if any(x in k for x in freeze):
            print("freezing %s" % k)
            v.requires_grad = False

    pg0, pg1, pg2 = [], [], []
    for k, v in model.named_parameters():
        v.requires_grad = True
        if ".bias" in k:
            pg2.append(v)
        elif ".weight" in k and ".bn" not in k:
            pg1.append(v)
        else:
            pg0.append(v)

    optimizer = SGD(pg0, lr=hyp["lr0"], momentum=hyp["momentum"], nesterov=True)
    optimizer.add_param_group({"params": pg1, "weight_decay": hyp["weight_decay"]})
    optimizer.add_param_group({"params": pg2})
    print("Optimizer groups: %g .bias, %g conv.weight, %g other" % (len(pg2), len(pg1), len(pg0)))
    scheduler = LambdaLR(optimizer, lambda e: (1 + math.cos(e * math.pi / opt.epochs)) / 2 * (1 - hyp["lrf"]) + hyp["lrf"])

    loader = DataLoader(fake_dataset(48, opt.nc), batch_size=opt.batch_size, shuffle=True)
    for epoch in range(opt.epochs):
        model.train()
        mloss = 0.0
        for images, target in loader:
            loss = compute_loss(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mloss += loss.item() / len(loader)
        scheduler.step()
        print("%g/%g loss %.4f lr %.4f" % (epoch, opt.epochs - 1, mloss, optimizer.param_groups[0]["lr"]))

    moved = [k for k, v in model.named_parameters() if not torch.equal(before[k], v)]
    print("%d of %d parameters changed, first: %s" % (len(moved), len(before), moved[0]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", type=str, default="")
    parser.add_argument("--nc", type=int, default=3)
    parser.add_argument("--freeze", type=int, default=3, help="number of leading blocks to keep as they are")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    train(parser.parse_args())
