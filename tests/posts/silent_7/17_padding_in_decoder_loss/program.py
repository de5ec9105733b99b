import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2
MAX_LEN = 24
LETTERS = "abcdefghijkl"
STOI = {ch: i + 3 for i, ch in enumerate(LETTERS)}
VOCAB = len(LETTERS) + 3


def cipher(word):
    table = dict(zip(LETTERS, LETTERS[5:] + LETTERS[:5]))
    return "".join(table[ch] for ch in reversed(word))


def make_pairs(n, rng):
    pairs = []
    for _ in range(n):
        word = "".join(rng.choice(LETTERS) for _ in range(rng.randint(2, 5)))
        pairs.append((word, cipher(word)))
    return pairs


def encode(text):
    ids = [BOS] + [STOI[ch] for ch in text] + [EOS]
    return torch.tensor(ids + [PAD] * (MAX_LEN - len(ids)))


def collate(pairs):
    src = torch.stack([encode(a) for a, _ in pairs])
    tgt = torch.stack([encode(b) for _, b in pairs])
    lengths = torch.tensor([len(a) + 2 for a, _ in pairs])
    return src, lengths, tgt


class Seq2Seq(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.project = nn.Linear(dim, VOCAB)

    def forward(self, src, lengths, tgt_in):
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(src), lengths, batch_first=True, enforce_sorted=False)
        _, state = self.encoder(packed)
        out, _ = self.decoder(self.embed(tgt_in), state)
        return self.project(out)


@torch.no_grad()
def letter_accuracy(model, loader):
    model.eval()
    hits = total = 0
    for src, lengths, tgt in loader:
        pred = model(src, lengths, tgt[:, :-1]).argmax(-1)
        gold = tgt[:, 1:]
        real = gold != PAD
        hits += (pred == gold)[real].sum().item()
        total += real.sum().item()
    return hits / total


rng = random.Random(0)
torch.manual_seed(0)
train_loader = DataLoader(make_pairs(1200, rng), batch_size=50, shuffle=True, collate_fn=collate)
test_loader = DataLoader(make_pairs(300, rng), batch_size=50, collate_fn=collate)

model = Seq2Seq()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)

for epoch in range(10):
    model.train()
    total = 0.0
    for src, lengths, tgt in train_loader:
        logits = model(src, lengths, tgt[:, :-1])
        loss = criterion(logits.reshape(-1, VOCAB), tgt[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1:2d}  loss {total / len(train_loader):.4f}  letter accuracy {letter_accuracy(model, test_loader):.3f}")
