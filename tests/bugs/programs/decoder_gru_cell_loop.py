import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.cell = nn.GRUCell(emb, hid)
        self.out = nn.Linear(hid, vocab)

    def step(self, token, hidden):
        emb = torch.relu(self.embedding(token))
        hidden = self.cell(emb, hidden)
        return self.out(hidden), hidden


class Model(nn.Module):
    def __init__(self, vocab=70, emb=24, hid=40, steps=6):
        super().__init__()
        self.steps = steps
        self.enc = nn.GRU(emb, hid, batch_first=True)
        self.src = nn.Embedding(vocab, emb)
        self.dec = Decoder(vocab, emb, hid)

    def forward(self, source):
        _, h = self.enc(self.src(source))
        hidden = h[0]
        token = source.new_ones(source.size(0), 1)  # <sos>
        logits = []
        for _ in range(self.steps):
            step, hidden = self.dec.step(token, hidden)
            token = step.argmax(dim=-1, keepdim=True)
            logits.append(step)
        return torch.stack(logits, dim=1)


def example_inputs():
    return (torch.randint(0, 70, (3, 9)),)
