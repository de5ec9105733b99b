import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    """Keeps a moving average of everything in the model's state dict."""

    def __init__(self, model, decay=0.98):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        source = model.state_dict()
        for name, value in self.module.state_dict().items():
            value.mul_(self.decay).add_(source[name], alpha=1 - self.decay)


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.SiLU(),
            nn.MaxPool2d(2),
        )


class GlyphNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.features = nn.Sequential(ConvBlock(1, 8), ConvBlock(8, 16))
        self.classifier = nn.Linear(16 * 3 * 3, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def make_glyphs(n, seed):
    proto = torch.rand(6, 12, 12, generator=torch.Generator().manual_seed(99)) > 0.6
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g)
    x = proto[y].float().unsqueeze(1)
    flip = torch.rand(x.shape, generator=g) < 0.15
    return TensorDataset(torch.where(flip, 1 - x, x), y)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batch-size', type=int, default=48)
    parser.add_argument('--lr', type=float, default=0.05)
    parser.add_argument('--ema-decay', type=float, default=0.95)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(make_glyphs(500, 0), args.batch_size, shuffle=True)
    test_loader = DataLoader(make_glyphs(130, 1), args.batch_size)
    model = GlyphNet()
    ema = ModelEMA(model, args.ema_decay)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train_loader))

    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            ema.update(model)
        print(f'epoch {epoch}: loss {loss.item():.4f} acc {accuracy(model, test_loader):.3f} '
              f'ema {accuracy(ema.module, test_loader):.3f}')


if __name__ == '__main__':
    main()
