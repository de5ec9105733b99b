import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset


class Patterns(Dataset):
    """Small noisy pictures of five stripe patterns."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.arange(n) % 5
        base = torch.Generator().manual_seed(99)
        protos = torch.rand(5, 3, 16, 16, generator=base)
        self.images = 4.0 * protos[self.labels] + 1.5 + 1.2 * torch.randn(n, 3, 16, 16, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class WideNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        layers, cin = [], 3
        for cout, stride in ((16, 1), (32, 2), (64, 2)):
            layers += [nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.LeakyReLU(0.1)]
            cin = cout
        self.features = nn.Sequential(*layers)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def create_model(num_classes, ema=False):
    model = WideNet(num_classes)
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


def average_weights(model, ema_model, alpha, global_step):
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for slow, fast in zip(ema_model.parameters(), model.parameters()):
        slow.data.mul_(alpha).add_(fast.data, alpha=1 - alpha)


def augment(x):
    flip = torch.rand(len(x), 1, 1, 1) < 0.5
    return torch.where(flip, x.flip(-1), x) + 0.3 * torch.randn_like(x)


def sharpen(p, T=0.5):
    p = p ** (1 / T)
    return p / p.sum(1, keepdim=True)


def validate(loader, model):
    model.eval()
    correct = total = loss = 0
    with torch.no_grad():
        for inputs, targets in loader:
            outputs = model(inputs)
            loss += F.cross_entropy(outputs, targets, reduction='sum').item()
            correct += (outputs.argmax(1) == targets).sum().item()
            total += len(targets)
    return loss / total, correct / total


def train(labelled, unlabelled, model, ema_model, optimizer, args, step):
    model.train()
    for (x, y), (u, _) in zip(labelled, unlabelled):
        with torch.no_grad():
            guess = sharpen((model(augment(u)).softmax(1) + model(augment(u)).softmax(1)) / 2)
        logits = model(torch.cat([augment(x), augment(u)]))
        logits_x, logits_u = logits[:len(x)], logits[len(x):]
        Lx = F.cross_entropy(logits_x, y)
        Lu = F.mse_loss(logits_u.softmax(1), guess)
        loss = Lx + args.lambda_u * Lu
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        average_weights(model, ema_model, args.ema_decay, step)
    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--lr', type=float, default=3e-3)
    parser.add_argument('--lambda-u', type=float, default=5.0)
    parser.add_argument('--ema-decay', type=float, default=0.97)
    args = parser.parse_args()
    torch.manual_seed(0)
    data = Patterns(1700, 0)
    labelled = DataLoader(Subset(data, range(200)), batch_size=16, shuffle=True, drop_last=True)
    unlabelled = DataLoader(Subset(data, range(200, 1700)), batch_size=64, shuffle=True, drop_last=True)
    test_loader = DataLoader(Patterns(500, 1), batch_size=100)
    model = create_model(5)
    ema_model = create_model(5, ema=True)
    ema_model.load_state_dict(copy.deepcopy(model.state_dict()))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    for epoch in range(args.epochs):
        step = train(labelled, unlabelled, model, ema_model, optimizer, args, step)
        test_loss, test_acc = validate(test_loader, ema_model)
        print(f'epoch {epoch}: step {step} test loss {test_loss:.4f} test acc {test_acc:.3f}')


if __name__ == '__main__':
    main()
