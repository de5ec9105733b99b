# line 29: model.parameters() already holds the head, which gets a group of its own as well, so its parameters are in two groups; mended by: a first group of the backbone parameters only
import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ReLU())
        self.block2 = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU())

    def forward(self, x):
        return self.block2(self.block1(x)).mean(dim=(2, 3))


class FineTuner(nn.Module):
    def __init__(self, width=12, n_classes=5):
        super().__init__()
        self.backbone = Backbone(width)
        self.head = nn.Linear(2 * width, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def configure_optimizers(model, base_lr=1e-4, head_lr=1e-2, wd=1e-4):
    groups = [
        {"params": model.backbone.parameters(), "lr": base_lr},
        {"params": model.head.parameters(), "lr": head_lr},
    ]
    optimizer = torch.optim.AdamW(groups, lr=base_lr, weight_decay=wd)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    return optimizer, scheduler


def mushrooms(n=60, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(5, (n,), generator=g)
    hue = torch.stack([y / 5.0, 1 - y / 5.0, (y % 2).float()], dim=1)
    x = hue[:, :, None, None] + 0.2 * torch.randn(n, 3, size, size, generator=g)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = mushrooms()
    model = FineTuner()
    optimizer, scheduler = configure_optimizers(model)
    for epoch in range(3):
        for xb, yb in zip(x.split(20), y.split(20)):
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        lrs = [f"{g['lr']:.1e}" for g in optimizer.param_groups]
        print("epoch", epoch, "loss %.3f" % loss.item(), "lrs", lrs)


if __name__ == "__main__":
    main()
