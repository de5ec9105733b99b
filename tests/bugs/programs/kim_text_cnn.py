"""Convolutional sentence classifier (after Kim, 2014)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, vocab_size=1000, embed_dim=50, n_filters=24, sizes=(3, 4, 5)):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.convs = nn.ModuleList(
            nn.Conv2d(1, n_filters, (k, embed_dim)) for k in sizes
        )
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(n_filters * len(sizes), 2)

    def forward(self, text):
        # text: (batch, words)
        emb = self.embedding(text).unsqueeze(1)
        maps = [F.relu(conv(emb)).squeeze(3) for conv in self.convs]
        pooled = [F.max_pool1d(m, m.size(2)).squeeze(2) for m in maps]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))


def pad_batch(sentences, length=4):
    out = torch.zeros(len(sentences), length, dtype=torch.long)
    for i, s in enumerate(sentences):
        out[i, : len(s)] = torch.tensor(s)
    return out


def example_inputs():
    sents = [[5, 9], [3, 77, 12], [4], [8, 1, 9, 2], [6, 6], [900, 2, 3], [1]]
    return (pad_batch(sents),)
