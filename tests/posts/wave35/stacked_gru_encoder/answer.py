import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

SOS_token = 0
EOS_token = 1
MAX_LENGTH = 10
hidden_size = 48
N_LAYERS = 2
N_ITERS = 300

random.seed(5)
torch.manual_seed(5)


class Lang:
    def __init__(self, words):
        self.word2index = {w: i + 2 for i, w in enumerate(words)}
        self.index2word = {i: w for w, i in self.word2index.items()}
        self.n_words = len(words) + 2

    def to_tensor(self, sentence):
        return torch.tensor([self.word2index[w] for w in sentence] + [EOS_token]).view(-1, 1)


source = Lang(["w%d" % i for i in range(20)])
target = Lang(["v%d" % i for i in range(20)])


def make_pair():
    ids = [random.randrange(20) for _ in range(random.randint(3, MAX_LENGTH - 2))]
    return ["w%d" % i for i in ids], ["v%d" % i for i in reversed(ids)]


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, n_layers=1):
        super(EncoderRNN, self).__init__()
        self.n_layers = n_layers
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, num_layers=n_layers)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        output = embedded
        output, hidden = self.gru(output, hidden)
        return output, hidden

    def initHidden(self):
        return torch.zeros(self.n_layers, 1, self.hidden_size)


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super(DecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        output = F.relu(self.embedding(input).view(1, 1, -1))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden


def train(src, trg, encoder, decoder, enc_opt, dec_opt, criterion):
    hidden = encoder.initHidden()
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    for ei in range(src.size(0)):
        _, hidden = encoder(src[ei], hidden)
    inp, loss = torch.tensor([[SOS_token]]), 0
    dec_hidden = hidden[-1:]
    for di in range(trg.size(0)):
        out, dec_hidden = decoder(inp, dec_hidden)
        loss += criterion(out, trg[di])
        inp = trg[di]
    loss.backward()
    enc_opt.step()
    dec_opt.step()
    return loss.item() / trg.size(0)


encoder = EncoderRNN(source.n_words, hidden_size, n_layers=N_LAYERS)
decoder = DecoderRNN(hidden_size, target.n_words)
enc_opt = optim.Adam(encoder.parameters(), lr=2e-3)
dec_opt = optim.Adam(decoder.parameters(), lr=2e-3)
criterion = nn.NLLLoss()

start, total = time.time(), 0.0
for it in range(1, N_ITERS + 1):
    s, t = make_pair()
    total += train(source.to_tensor(s), target.to_tensor(t), encoder, decoder, enc_opt, dec_opt, criterion)
    if it % 100 == 0:
        print("%4d  %.1fs  loss %.4f" % (it, time.time() - start, total / 100))
        total = 0.0
