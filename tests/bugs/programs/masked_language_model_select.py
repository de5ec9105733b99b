import torch
import torch.nn as nn
import torch.nn.functional as F

CLS, MASK = 1, 2


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, batch_first=True)

    def forward(self, ids):
        h = self.layer(self.emb(ids))
        return h[:, 0], h[:, 1:]


class Model(nn.Module):
    """Predicts the original ids of the masked tokens only."""

    def __init__(self, vocab=77, dim=32):
        super().__init__()
        self.encoder = Encoder(vocab, dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, labels):
        pooled, hidden = self.encoder(ids)
        chosen = ids == MASK
        picked = hidden[chosen]
        logits = self.head(picked)
        loss = F.cross_entropy(logits, labels[labels >= 0])
        return loss, logits


def example_inputs():
    ids = torch.randint(3, 77, (3, 11))
    labels = torch.full((3, 11), -100)
    labels[:, [2, 5, 9]] = ids[:, [2, 5, 9]]
    ids[:, [2, 5, 9]] = MASK
    ids[:, 0] = CLS
    return ids, labels
