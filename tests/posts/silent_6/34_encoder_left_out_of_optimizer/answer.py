import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

SOS, SYMBOLS, LENGTH = 0, 10, 5
torch.manual_seed(1)
random.seed(1)


def make_batch(size):
    src = torch.randint(1, SYMBOLS + 1, (size, LENGTH))
    return src, src.flip(1)


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS + 1, 16)
        self.gru = nn.GRU(16, hidden, batch_first=True)

    def forward(self, src):
        _, hidden = self.gru(self.embedding(src))
        return hidden


class Decoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS + 1, 16)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, SYMBOLS + 1)

    def forward(self, token, hidden):
        output, hidden = self.gru(self.embedding(token), hidden)
        return self.out(output), hidden


def run(encoder, decoder, src, trg, forcing):
    hidden = encoder(src)
    token = torch.full((src.size(0), 1), SOS)
    steps = []
    for t in range(LENGTH):
        logits, hidden = decoder(token, hidden)
        steps.append(logits)
        if random.random() < forcing:
            token = trg[:, t:t + 1]
        else:
            token = logits.argmax(-1).detach()
    return torch.cat(steps, dim=1)


def evaluate(encoder, decoder, n=500):
    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        src, trg = make_batch(n)
        pred = run(encoder, decoder, src, trg, forcing=0.0).argmax(-1)
    encoder.train()
    decoder.train()
    return (pred == trg).float().mean().item(), (pred == trg).all(1).float().mean().item()


encoder = Encoder(64)
decoder = Decoder(64)
optimizer = optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=4e-3)

running = 0.0
for step in range(1, 601):
    src, trg = make_batch(64)
    optimizer.zero_grad()
    logits = run(encoder, decoder, src, trg, forcing=0.6)
    loss = F.cross_entropy(logits.reshape(-1, SYMBOLS + 1), trg.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
    optimizer.step()
    running += loss.item()
    if step % 100 == 0:
        tokens, whole = evaluate(encoder, decoder)
        print(f"step {step} loss {running / 100:.4f} token acc {tokens:.3f} sequence acc {whole:.3f}")
        running = 0.0
