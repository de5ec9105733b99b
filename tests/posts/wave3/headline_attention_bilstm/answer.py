import torch
import torch.nn as nn


class AttentivePooling(nn.Module):
    """Weighs the words by how well they fit the final state of the reader."""

    def forward(self, states, summary):
        # states: (batch, words, 2 * units), summary: (batch, 2 * units)
        fit = torch.einsum('bwu,bu->bw', states, summary)
        weight = fit.softmax(dim=1)
        return torch.einsum('bw,bwu->bu', weight, states), weight


class HeadlineReader(nn.Module):
    def __init__(self, vocab_size=3000, dim=48, units=40, topics=7):
        super().__init__()
        self.units = units
        self.words = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.reader = nn.LSTM(dim, units, batch_first=True, bidirectional=True)
        self.pool = AttentivePooling()
        self.topic = nn.Linear(2 * units, topics)

    def forward(self, headline):
        states, (h_n, _) = self.reader(self.words(headline))
        summary = h_n.transpose(0, 1).reshape(-1, 2 * self.units)
        pooled, weight = self.pool(states, summary)
        return self.topic(pooled), weight
