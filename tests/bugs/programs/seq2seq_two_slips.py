import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(hid, hid)

    def forward(self, src):
        out, h = self.rnn(self.emb(src))
        both = torch.cat([h[0], h[1]], dim=-1)
        return out, torch.tanh(self.bridge(both))


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)
        self.out = nn.Linear(emb, vocab)

    def forward(self, tgt, state):
        y, _ = self.rnn(self.emb(tgt), state.unsqueeze(0))
        return self.out(y)


class Model(nn.Module):
    def __init__(self, src_vocab=150, tgt_vocab=120, emb=32, hid=48):
        super().__init__()
        self.encoder = Encoder(src_vocab, emb, hid)
        self.decoder = Decoder(tgt_vocab, emb, hid)

    def forward(self, src, tgt):
        _, state = self.encoder(src)
        return self.decoder(tgt, state)


def example_inputs():
    return torch.randint(150, (4, 10)), torch.randint(120, (4, 8))
