from __future__ import division

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttentivePooling(nn.Module):
    """r attention hops over the hidden states (Lin et al.)."""

    def __init__(self, dim, da=16, r=2):
        super(SelfAttentivePooling, self).__init__()
        self.ws1 = nn.Linear(dim, da, bias=False)
        self.ws2 = nn.Linear(da, r, bias=False)

    def forward(self, H):
        # H: bsz x len x dim
        scores = self.ws2(torch.tanh(self.ws1(H)))
        scores = scores.transpose(1, 2).contiguous()
        A = F.softmax(scores)
        M = torch.bmm(A, H)
        return M.view(M.size(0), -1)


class Model(nn.Module):
    def __init__(self, vocab=110, dim=16):
        super(Model, self).__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(0.0)
        self.pool = SelfAttentivePooling(dim)

    def forward(self, ids):
        return self.pool(self.drop(self.emb(ids)))


def example_inputs():
    return (torch.randint(0, 110, (5, 17)),)
