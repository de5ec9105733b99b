import torch
import torch.nn as nn


class SentenceEncoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.hid = hid
        self.emb = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hid, batch_first=True, bidirectional=True)

    def forward(self, ids):
        _, (h_n, _) = self.lstm(self.emb(ids))
        h = h_n.view(ids.size(0), 2 * self.hid)
        return h


class Model(nn.Module):
    """Natural language inference with two shared encoders (InferSent features)."""

    def __init__(self, vocab=300, emb=25, hid=30):
        super().__init__()
        self.encoder = SentenceEncoder(vocab, emb, hid)
        self.mlp = nn.Sequential(
            nn.Linear(4 * 2 * hid, 64),
            nn.Tanh(),
            nn.Linear(64, 3),
        )

    def forward(self, premise, hypothesis):
        u, v = self.encoder(premise), self.encoder(hypothesis)
        feats = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
        return self.mlp(feats)


def example_inputs():
    return torch.randint(0, 300, (6, 14)), torch.randint(0, 300, (6, 9))
