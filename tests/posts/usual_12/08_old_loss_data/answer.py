# -*- coding: utf-8 -*-
# char-level language model, script of a former colleague (2017), data replaced by our product titles
from __future__ import print_function
import random

import torch
import torch.nn as nn
from torch.autograd import Variable

torch.manual_seed(1)
random.seed(1)

ADJ = ['red', 'small', 'steel', 'wooden', 'folding', 'garden', 'kids', 'classic']
NOUN = ['chair', 'table', 'lamp', 'bench', 'shelf', 'mirror', 'basket']
titles = ['%s %s %s' % (random.choice(ADJ), random.choice(ADJ), random.choice(NOUN)) for _ in range(400)]
corpus = '\n'.join(titles)

chars = sorted(set(corpus))
stoi = {c: i for i, c in enumerate(chars)}
n_chars = len(chars)
CHUNK = 60


def random_chunk():
    start = random.randint(0, len(corpus) - CHUNK - 1)
    return corpus[start:start + CHUNK + 1]


def char_tensor(s):
    return torch.LongTensor([stoi[c] for c in s])


def random_batch(size):
    inp = torch.zeros(CHUNK, size).long()
    tgt = torch.zeros(CHUNK, size).long()
    for b in range(size):
        c = random_chunk()
        inp[:, b] = char_tensor(c[:-1])
        tgt[:, b] = char_tensor(c[1:])
    return Variable(inp), Variable(tgt)


class CharRNN(nn.Module):
    def __init__(self, n_chars, hidden):
        super(CharRNN, self).__init__()
        self.encoder = nn.Embedding(n_chars, hidden)
        self.gru = nn.GRU(hidden, hidden)
        self.decoder = nn.Linear(hidden, n_chars)

    def forward(self, x, h=None):
        e = self.encoder(x)
        out, h = self.gru(e, h)
        return self.decoder(out), h


class Trainer(object):
    def __init__(self, model, lr=0.005):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, inp, tgt):
        self.optimizer.zero_grad()
        out, _ = self.model(inp)
        loss = self.criterion(out.view(-1, n_chars), tgt.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5)
        self.optimizer.step()
        return loss.item()


def generate(model, prime='r', length=40, temperature=0.7):
    model.eval()
    text, h = prime, None
    with torch.no_grad():
        x = char_tensor(prime).view(-1, 1)
        for _ in range(length):
            out, h = model(x, h)
            probs = torch.softmax(out[-1, 0] / temperature, dim=0)
            nxt = torch.multinomial(probs, 1).item()
            text += chars[nxt]
            x = torch.LongTensor([[nxt]])
    model.train()
    return text


net = CharRNN(n_chars, 64)
trainer = Trainer(net)
loss_avg = 0
for it in range(1, 101):
    loss_avg += trainer.step(*random_batch(16))
    if it % 25 == 0:
        print('[%d] %.4f' % (it, loss_avg / 25))
        print(repr(generate(net)))
        loss_avg = 0
