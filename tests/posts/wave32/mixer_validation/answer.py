import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class MixerLayer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.token_mlp = Mlp(tokens, 64)
        self.norm2 = nn.LayerNorm(dim)
        self.channel_mlp = Mlp(dim, 128)

    def forward(self, x):
        x = x + self.token_mlp(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mlp(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, img_size=32, patch=8, dim=64, depth=3, num_classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, patch, patch)
        tokens = (img_size // patch) ** 2
        self.layers = nn.Sequential(*[MixerLayer(tokens, dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x, labels=None):
        x = self.stem(x).flatten(2).transpose(1, 2)
        x = self.norm(self.layers(x))
        logits = self.head(x.mean(dim=1))
        if labels is not None:
            return nn.functional.cross_entropy(logits, labels)
        return logits


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def get_loaders(args):
    protos = torch.randn(10, 3, 32, 32)
    loaders = []
    for n in (512, 512):
        y = torch.randint(0, 10, (n,))
        x = protos[y] + torch.randn(n, 3, 32, 32)
        loaders.append(DataLoader(TensorDataset(x, y), batch_size=args.eval_batch_size, shuffle=n == 512))
    return loaders


def valid(args, model, loader):
    losses = AverageMeter()
    model.eval()
    loss_fct = nn.CrossEntropyLoss()
    all_preds, all_label = [], []
    for batch in loader:
        x, y = tuple(t.to(args.device) for t in batch)
        with torch.no_grad():
            logits = model(x)
            eval_loss = loss_fct(logits, y)
            losses.update(eval_loss.item(), len(y))
            preds = torch.argmax(logits, dim=-1)
        all_preds.append(preds.cpu().numpy())
        all_label.append(y.cpu().numpy())
    acc = (np.concatenate(all_preds) == np.concatenate(all_label)).mean()
    print("valid loss %2.5f  accuracy %2.5f" % (losses.avg, acc))
    return acc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--eval_batch_size", default=256, type=int)
    parser.add_argument("--learning_rate", default=1e-3, type=float)
    parser.add_argument("--epochs", default=2, type=int)
    args = parser.parse_args()
    args.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(42)

    train_loader, test_loader = get_loaders(args)
    model = Mixer().to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            loss = model(x.to(args.device), y.to(args.device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        valid(args, model, test_loader)


if __name__ == "__main__":
    main()
