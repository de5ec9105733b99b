import torch
import torch.nn as nn
import torch.nn.functional as F


class LabelSmoothing(nn.Module):
    """Label smoothing with a padding index, following the annotated transformer."""

    def __init__(self, size, padding_idx, smoothing=0.1):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx = padding_idx
        self.confidence = 1.0 - smoothing
        self.smoothing = smoothing
        self.size = size

    def forward(self, x, target):
        dist = torch.full_like(x, self.smoothing / (self.size - 2))
        dist.scatter_(1, target, self.confidence)
        dist[:, self.padding_idx] = 0
        pad = torch.nonzero(target == self.padding_idx)
        if pad.numel() > 0:
            dist.index_fill_(0, pad.squeeze(1), 0.0)
        return self.criterion(x, dist)


class Model(nn.Module):
    def __init__(self, vocab=31, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.generator = nn.Linear(dim, vocab)
        self.loss = LabelSmoothing(vocab, padding_idx=0)

    def forward(self, src, tgt):
        logp = F.log_softmax(self.generator(self.emb(src)), dim=-1)
        n_tokens = (tgt != 0).sum()
        return self.loss(logp.flatten(0, 1), tgt.flatten()) / n_tokens


def example_inputs():
    tgt = torch.randint(1, 31, (4, 7))
    tgt[0, 5:] = 0
    return torch.randint(1, 31, (4, 7)), tgt
