import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Joint intent and slot model; all sequences are (T, B, ...)."""

    def __init__(self, vocab=150, emb=20, hid=24, slots=9, intents=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.LSTM(emb, hid, num_layers=2, dropout=0.1)
        self.slot = nn.Linear(hid, slots)
        self.score = nn.Linear(hid, 1)
        self.intent = nn.Linear(2 * hid, intents)

    def forward(self, ids):
        x = self.emb(ids)
        n_batch = x.size(1)
        h0 = x.new_zeros(2, n_batch, self.rnn.hidden_size)
        out, (h, c) = self.rnn(x, (h0, torch.zeros_like(h0)))
        alpha = F.softmax(self.score(out), dim=0)
        context = (alpha * out).sum(0)
        last = out[-1]
        intent = self.intent(torch.cat((context, last), dim=1))
        return self.slot(out), intent, h[-1]


def example_inputs():
    return (torch.randint(0, 150, (17, 6)),)
