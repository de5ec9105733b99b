import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset


class HParams:
    epochs = 6
    batch_size = 32
    lr = 3e-3
    warmup_steps = 20
    d_model = 32
    n_heads = 4
    length = 20
    classes = 8


class PhoneFrames(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        base = torch.randn(HParams.classes, 16, generator=torch.Generator().manual_seed(0))
        g = torch.Generator().manual_seed(seed)
        self.x, self.y = [], []
        for _ in range(n):
            phones = []
            while len(phones) < HParams.length:
                phones += [rnd.randrange(HParams.classes)] * rnd.randint(2, 5)
            y = torch.tensor(phones[:HParams.length])
            self.x.append(base[y] + 0.8 * torch.randn(HParams.length, 16, generator=g))
            self.y.append(y)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]


class Tagger(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.inp = nn.Linear(16, hp.d_model)
        self.pos = nn.Parameter(torch.zeros(1, hp.length, hp.d_model))
        layer = nn.TransformerEncoderLayer(hp.d_model, hp.n_heads, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(hp.d_model, hp.classes)

    def forward(self, x):
        return self.out(self.encoder(self.inp(x) + self.pos))


def cosine_with_warmup(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, total - warmup)
        return max(0.0, 0.5 * (1 + math.cos(math.pi * progress)))
    return LambdaLR(optimizer, factor)


def evaluate(model, loader):
    model.eval()
    hit = count = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(-1) == y).sum().item()
            count += y.numel()
    return hit / count


def main(hp):
    torch.manual_seed(0)
    train_loader = DataLoader(PhoneFrames(330, 1), hp.batch_size, shuffle=True)
    test_loader = DataLoader(PhoneFrames(70, 2), hp.batch_size)
    model = Tagger(hp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp.lr)
    total_steps = hp.epochs * len(train_loader)
    scheduler = cosine_with_warmup(optimizer, hp.warmup_steps, total_steps)
    for epoch in range(hp.epochs):
        model.train()
        running = 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x).transpose(1, 2), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.2e} "
              f"loss {running / len(train_loader):.4f} acc {evaluate(model, test_loader):.4f}")


if __name__ == "__main__":
    main(HParams())
