import argparse
from collections import OrderedDict

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    def __init__(self, n, seed, classes):
        g = torch.Generator().manual_seed(seed)
        self.kind = torch.randint(0, classes, (n,), generator=g)
        self.at = torch.randint(2, 8, (n, 2), generator=g)
        self.noise = 0.3 * torch.randn(n, 1, 16, 16, generator=g)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        img = self.noise[i].clone()
        r, c = self.at[i].tolist()
        k = int(self.kind[i])
        if k == 0:
            img[0, r:r + 6, c:c + 6] += 1
        elif k == 1:
            img[0, r:r + 6, c + 2:c + 4] += 1
        elif k == 2:
            img[0, r + 2:r + 4, c:c + 6] += 1
        else:
            img[0, r:r + 6, c:c + 6] += torch.eye(6)
        return img, k


def backbone():
    return nn.Sequential(OrderedDict([
        ("conv1", nn.Conv2d(1, 8, 3, padding=1)), ("bn1", nn.BatchNorm2d(8)), ("relu1", nn.ReLU()), ("pool1", nn.MaxPool2d(2)),
        ("conv2", nn.Conv2d(8, 16, 3, padding=1)), ("bn2", nn.BatchNorm2d(16)), ("relu2", nn.ReLU()), ("pool2", nn.AdaptiveAvgPool2d(2)),
        ("flat", nn.Flatten()),
    ]))


class FineTuner:
    def __init__(self, body, classes, lr, thaw_at):
        self.body, self.head = body, nn.Linear(64, classes)
        self.thaw_at, self.lr, self.frozen = thaw_at, lr, True
        for p in self.body.parameters():
            p.requires_grad_(False)
        self.optimizer = optim.Adam(filter(lambda p: p.requires_grad, [*self.body.parameters(), *self.head.parameters()]), lr=lr)
        self.scheduler = optim.lr_scheduler.MultiStepLR(self.optimizer, [4])

    def thaw(self):
        self.frozen = False
        for p in self.body.parameters():
            p.requires_grad_(True)
        self.optimizer.add_param_group({"params": list(self.body.parameters()), "lr": self.lr / 10})
        self.scheduler = optim.lr_scheduler.MultiStepLR(self.optimizer, [2])

    def mode(self, training):
        self.head.train(training)
        self.body.train(training and not self.frozen)

    def epoch(self, loader, training):
        self.mode(training)
        total = hits = n = 0
        with torch.set_grad_enabled(training):
            for x, y in loader:
                logits = self.head(self.body(x))
                loss = nn.functional.cross_entropy(logits, y)
                if training:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                total += loss.item() * len(y)
                hits += (logits.argmax(1) == y).sum().item()
                n += len(y)
        return total / n, hits / n

    def fit(self, train, val, epochs):
        for e in range(epochs):
            if e == self.thaw_at:
                self.thaw()
            tr, va = self.epoch(train, True), self.epoch(val, False)
            self.scheduler.step()
            print(f"{e} frozen={self.frozen} train {tr[0]:.3f} {tr[1]:.2f} val {va[0]:.3f} {va[1]:.2f}",
                  "lrs", ["%.0e" % g["lr"] for g in self.optimizer.param_groups])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--thaw-at", type=int, default=2)
    args = ap.parse_args()
    torch.manual_seed(0)
    # pretrain on two of the kinds
    pre = nn.Sequential(backbone(), nn.Linear(64, 2))
    opt = optim.Adam(pre.parameters(), lr=5e-3)
    for x, y in DataLoader(Shapes(150, 5, 2), batch_size=25, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(pre(x), y).backward()
        opt.step()
    torch.save(pre[0].state_dict(), "body.pt")

    body = backbone()
    missing, unexpected = body.load_state_dict(torch.load("body.pt"), strict=False)
    assert not missing and not unexpected
    FineTuner(body, 4, 5e-3, args.thaw_at).fit(
        DataLoader(Shapes(220, 0, 4), batch_size=32, shuffle=True), DataLoader(Shapes(70, 1, 4), batch_size=32), args.epochs)


if __name__ == "__main__":
    main()
