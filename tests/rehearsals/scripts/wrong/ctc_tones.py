"""Recognise sequences of tones with a small conv + GRU and CTC."""
import argparse
import random

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

BLANK = 0


def make_utterance(rng, n_symbols=10):
    length = rng.integers(3, 7)
    symbols = rng.integers(1, n_symbols + 1, size=length)
    frames = []
    for s in symbols:
        hold = rng.integers(8, 13)
        tone = np.zeros((hold, 24), dtype=np.float32)
        tone[:, s * 2] = 1.0
        frames.append(tone + 0.1 * rng.standard_normal((hold, 24)).astype(np.float32))
    return np.concatenate(frames), symbols


class Tones(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = [make_utterance(rng) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        x, y = self.items[i]
        return torch.from_numpy(x), torch.from_numpy(y)


def collate(batch):
    xs, ys = zip(*batch)
    x_len = torch.tensor([len(x) for x in xs])
    y_len = torch.tensor([len(y) for y in ys])
    x = nn.utils.rnn.pad_sequence(xs, batch_first=True)
    return x, torch.cat(ys), x_len, y_len


class Recogniser(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.conv = nn.Conv1d(24, hidden, kernel_size=3, stride=2, padding=1)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, 11)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.head(h).log_softmax(-1)


def greedy(log_probs, lengths):
    out = []
    for row, n in zip(log_probs.argmax(-1), lengths):
        collapsed = torch.unique_consecutive(row[:n])
        out.append([int(s) for s in collapsed if s != BLANK])
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    random.seed(0)
    torch.manual_seed(0)
    train = DataLoader(Tones(150, 0), args.batch_size, shuffle=True, collate_fn=collate)
    model = Recogniser(args.hidden)
    ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    opt = optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        total = 0.0
        for x, y, x_len, y_len in train:
            log_probs = model(x)
            out_len = x_len
            loss = ctc(log_probs.transpose(0, 1), y, out_len, y_len)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item() * len(x)
        guess = greedy(log_probs.detach(), out_len)
        print(f"epoch {epoch} ctc {total / len(train.dataset):.3f} e.g. {guess[0]}")


if __name__ == "__main__":
    main()
