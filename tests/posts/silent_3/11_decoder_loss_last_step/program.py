import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD, SOS = 0, 1
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
SRC_CHARS = {c: i + 2 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz0123456789 ")}
TGT_CHARS = {c: i + 2 for i, c in enumerate("0123456789-")}
SRC_LEN, TGT_LEN = 11, 10


class DatePairs(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.rows = []
        for _ in range(n):
            y, m, d = rnd.randint(1990, 2019), rnd.randint(1, 12), rnd.randint(1, 28)
            src = f"{d:02d} {MONTHS[m - 1]} {y}"
            tgt = f"{y}-{m:02d}-{d:02d}"
            self.rows.append(([SRC_CHARS[c] for c in src], [TGT_CHARS[c] for c in tgt]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        src, tgt = self.rows[i]
        return torch.tensor(src), torch.tensor(tgt)


class Seq2Seq(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.src_emb = nn.Embedding(len(SRC_CHARS) + 2, 32)
        self.tgt_emb = nn.Embedding(len(TGT_CHARS) + 2, 32)
        self.encoder = nn.GRU(32, dim, batch_first=True)
        self.cell = nn.GRUCell(32 + dim, dim)
        self.query = nn.Linear(dim, dim)
        self.out = nn.Linear(2 * dim, len(TGT_CHARS) + 2)

    def encode(self, src):
        states, h = self.encoder(self.src_emb(src))
        return states, h[0]

    def step(self, token, h, states):
        weights = torch.softmax(torch.einsum("btd,bd->bt", states, self.query(h)), dim=1)
        context = torch.einsum("bt,btd->bd", weights, states)
        h = self.cell(torch.cat([self.tgt_emb(token), context], dim=1), h)
        return self.out(torch.cat([h, context], dim=1)), h


def exact_match(model, loader):
    model.eval()
    hits = chars = 0
    with torch.no_grad():
        for src, tgt in loader:
            states, h = model.encode(src)
            token, preds = torch.full((len(src),), SOS), []
            for _ in range(TGT_LEN):
                logits, h = model.step(token, h, states)
                token = logits.argmax(1)
                preds.append(token)
            same = torch.stack(preds, 1) == tgt
            hits += same.all(1).sum().item()
            chars += same.sum().item()
    return hits / len(loader.dataset), chars / (TGT_LEN * len(loader.dataset))


torch.manual_seed(0)
train_loader = DataLoader(DatePairs(3000, 0), batch_size=64, shuffle=True)
test_loader = DataLoader(DatePairs(300, 1), batch_size=100)
model, criterion = Seq2Seq(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

for epoch in range(4):
    model.train()
    running = 0.0
    for src, tgt in train_loader:
        states, h = model.encode(src)
        token = torch.full((len(src),), SOS)
        for t in range(TGT_LEN):
            logits, h = model.step(token, h, states)
            loss = criterion(logits, tgt[:, t])
            token = tgt[:, t]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: loss {running / len(train_loader):.4f}", "exact %.3f, characters %.3f" % exact_match(model, test_loader))
