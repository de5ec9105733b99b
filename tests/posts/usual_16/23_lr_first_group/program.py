import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

# Fine-tuning a small transformer encoder on a new tagging task, own lr schedule

VOCAB, D_MODEL, LENGTH, N_TAGS = 60, 32, 20, 4
BASE_LR = 1e-3
HEAD_LR = 1e-2
EPOCHS = 6


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D_MODEL)
        self.pos = nn.Parameter(torch.randn(LENGTH, D_MODEL) * 0.02)
        layer = nn.TransformerEncoderLayer(D_MODEL, 4, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)

    def forward(self, ids):
        return self.layers(self.tok(ids) + self.pos[: ids.size(1)])


class Tagger(nn.Module):
    def __init__(self, encoder, n_tags):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(D_MODEL, n_tags)

    def forward(self, ids):
        return self.head(self.encoder(ids))


def pretrain_data(n):
    ids = torch.randint(0, VOCAB, (n, LENGTH))
    return ids, (ids % 3)


def target_data(n):
    """tag of a token depends on the token and on the one before"""
    ids = torch.randint(0, VOCAB, (n, LENGTH))
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), ids[:, :-1]], dim=1)
    return ids, 2 * (ids % 3 == 0).long() + (prev % 3 == 0).long()


def build_optimizer(model):
    decay, no_decay = [], []
    for p in model.encoder.parameters():
        (decay if p.dim() > 1 else no_decay).append(p)
    return torch.optim.AdamW([
        {"params": decay, "lr": BASE_LR, "weight_decay": 0.01},
        {"params": no_decay, "lr": BASE_LR, "weight_decay": 0.0},
        {"params": model.head.parameters(), "lr": HEAD_LR, "weight_decay": 0.0},
    ])


def lr_factor(step, total, warmup):
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return 0.5 * (1 + math.cos(math.pi * progress))


def fit(model, loader, optimizer, epochs, schedule=False):
    total = epochs * len(loader)
    base_lrs = [g["lr"] for g in optimizer.param_groups]
    step = 0
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for ids, tags in loader:
            if schedule:
                factor = lr_factor(step, total, warmup=total // 10)
                optimizer.param_groups[0]["lr"] = base_lrs[0] * factor
            loss = F.cross_entropy(model(ids).transpose(1, 2), tags)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
            step += 1
        print(f"  epoch {epoch + 1}: loss {running / len(loader):.3f} lr {optimizer.param_groups[0]['lr']:.2e}")


@torch.no_grad()
def accuracy(model, ids, tags):
    model.eval()
    return (model(ids).argmax(-1) == tags).float().mean().item()


torch.manual_seed(9)
print("pretraining")
source = Tagger(Encoder(), 3)
fit(source, DataLoader(TensorDataset(*pretrain_data(400)), 50, shuffle=True),
    torch.optim.AdamW(source.parameters(), lr=1e-3), epochs=3)

print("fine-tuning")
model = Tagger(copy.deepcopy(source.encoder), N_TAGS)
optimizer = build_optimizer(model)
train_loader = DataLoader(TensorDataset(*target_data(800)), batch_size=40, shuffle=True)
fit(model, train_loader, optimizer, EPOCHS, schedule=True)
print(f"test accuracy {accuracy(model, *target_data(200)):.3f}")
