"""04.03.1999 -> 1999-03-04, characters to characters."""
import datetime
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

chars = ['<pad>', '<s>', '</s>'] + list("0123456789.-/ ") + list("abcdefghijklmnopqrstuvwxyz")
index = {c: i for i, c in enumerate(chars)}
formats = ["%d.%m.%Y", "%d %b %Y", "%m/%d/%y"]


class Dates(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        first = datetime.date(1980, 1, 1)
        days = [first + datetime.timedelta(days=rnd.randrange(15000)) for _ in range(n)]
        self.pairs = [(d.strftime(rnd.choice(formats)).lower(), d.isoformat()) for d in days]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        src, trg = self.pairs[i]
        return torch.tensor([index[c] for c in src]), torch.tensor([1] + [index[c] for c in trg] + [2])


def collate(batch):
    batch.sort(key=lambda p: len(p[0]), reverse=True)
    src, trg = zip(*batch)
    return pad_sequence(src, True), torch.tensor([len(s) for s in src]), pad_sequence(trg, True)


class Seq2Seq(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.emb = nn.Embedding(len(chars), dim, padding_idx=0)
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.dec = nn.GRUCell(2 * dim, dim)
        self.query = nn.Linear(dim, dim)
        self.out = nn.Linear(2 * dim, len(chars))

    def encode(self, src, lengths):
        packed = pack_padded_sequence(self.emb(src), lengths, batch_first=True)
        memory, h = self.enc(packed)
        return pad_packed_sequence(memory, batch_first=True)[0], h[-1], src == 0

    def step(self, token, h, context, memory, mask):
        h = self.dec(torch.cat([self.emb(token), context], 1), h)
        score = (memory @ self.query(h).unsqueeze(2)).squeeze(2).masked_fill(mask, float('-inf'))
        context = (score.softmax(1).unsqueeze(1) @ memory).squeeze(1)
        return self.out(torch.cat([h, context], 1)), h, context

    def forward(self, src, lengths, trg, forcing):
        memory, h, mask = self.encode(src, lengths)
        context, token, logits = torch.zeros_like(h), trg[:, 0], []
        for t in range(1, trg.shape[1]):
            out, h, context = self.step(token, h, context, memory, mask)
            logits.append(out)
            token = trg[:, t] if random.random() < forcing else out.argmax(1).detach()
        return torch.stack(logits, 1)

    @torch.no_grad()
    def greedy(self, src, lengths, limit=12):
        memory, h, mask = self.encode(src, lengths)
        context = torch.zeros_like(h)
        token = torch.ones(len(src), dtype=torch.long)
        done, out = torch.zeros(len(src), dtype=torch.bool), []
        for _ in range(limit):
            logits, h, context = self.step(token, h, context, memory, mask)
            token = logits.argmax(1).masked_fill(done, 0)
            out.append(token)
            done |= token == 2
            if done.all():
                break
        return torch.stack(out, 1)


def to_text(ids):
    return ''.join(chars[i] for i in ids if i > 2)


random.seed(0)
torch.manual_seed(0)
train_loader = DataLoader(Dates(500, 0), batch_size=48, shuffle=True, collate_fn=collate)
test_loader = DataLoader(Dates(100, 1), batch_size=48, collate_fn=collate)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=0)
for epoch in range(4):
    model.train()
    forcing, total, tokens = max(0.5, 1 - 0.1 * epoch), 0.0, 0
    for src, lengths, trg in train_loader:
        logits = model(src, lengths, trg, forcing)
        loss = criterion(logits.flatten(0, 1), trg[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        n = (trg[:, 1:] != 0).sum().item()
        total, tokens = total + loss.item() * n, tokens + n
    model.eval()
    right = seen = 0
    for src, lengths, trg in test_loader:
        for guess, want in zip(model.greedy(src, lengths).tolist(), trg.tolist()):
            right += to_text(guess) == to_text(want)
            seen += 1
    print(f'epoch {epoch} forcing {forcing:.1f} loss {total / tokens:.3f} exact {right}/{seen} e.g. {to_text(guess)}')
