"""Teach a GRU encoder-decoder to reverse strings of digits."""
import argparse
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, SOS, EOS = 0, 1, 2
VOCAB = 13


class Reversals(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.data = [[rnd.randrange(3, VOCAB) for _ in range(rnd.randint(2, 6))] for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        s = self.data[i]
        return torch.tensor(s + [EOS]), torch.tensor([SOS] + s[::-1] + [EOS])


def collate_fn(batch):
    src, trg = zip(*batch)
    return (pad_sequence(src, batch_first=True, padding_value=PAD),
            pad_sequence(trg, batch_first=True, padding_value=PAD))


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src):
        return self.rnn(self.emb(src))[1]


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, token, hidden):
        h, hidden = self.rnn(self.emb(token), hidden)
        return self.out(h), hidden


def train_batch(enc, dec, opt, src, trg, criterion, teacher_forcing):
    hidden = enc(src)
    token = trg[:, :1]
    outputs = []
    for t in range(1, trg.size(1)):
        logits, hidden = dec(token, hidden)
        outputs.append(logits)
        token = trg[:, t:t + 1] if random.random() < teacher_forcing else logits.argmax(-1)
    logits = torch.cat(outputs, dim=1)
    loss = criterion(logits.reshape(-1, VOCAB), trg[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], 1.0)
    opt.step()
    return loss.item()


@torch.no_grad()
def greedy_decode(enc, dec, src, max_len=8):
    hidden = enc(src)
    tokens = torch.full((src.size(0), 1), SOS)
    for _ in range(max_len):
        logits, hidden = dec(tokens[:, -1:], hidden)
        best = logits[:, -1].argmax(-1)
        tokens = torch.cat([tokens, best], dim=1)
    return tokens[:, 1:]


def exact_match(enc, dec, loader):
    good = total = 0
    for src, trg in loader:
        guess = greedy_decode(enc, dec, src).tolist()
        for g, t in zip(guess, trg[:, 1:].tolist()):
            want = t[:t.index(EOS)]
            got = g[:g.index(EOS)] if EOS in g else g
            good += want == got
            total += 1
    return good / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--dim", type=int, default=48)
    ap.add_argument("--teacher-forcing", type=float, default=0.7)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    train_loader = DataLoader(Reversals(500, 0), batch_size=32, shuffle=True, collate_fn=collate_fn)
    val_loader = DataLoader(Reversals(70, 1), batch_size=32, collate_fn=collate_fn)
    enc, dec = Encoder(args.dim), Decoder(args.dim)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=4e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for epoch in range(args.epochs):
        losses = [train_batch(enc, dec, opt, s, t, criterion, args.teacher_forcing) for s, t in train_loader]
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} exact {exact_match(enc, dec, val_loader):.3f}")


if __name__ == "__main__":
    main()
