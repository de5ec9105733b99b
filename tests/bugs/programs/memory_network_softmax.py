import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """End-to-end memory network, adjacent weight sharing left out."""

    def __init__(self, num_vocab=40, embedding_dim=18, max_hops=3):
        super().__init__()
        self.max_hops = max_hops
        self.A = nn.ModuleList(
            nn.Embedding(num_vocab, embedding_dim) for _ in range(max_hops + 1)
        )

    def forward(self, story, query):
        # story: (batch, sentences, words), query: (batch, words)
        u = self.A[0](query).sum(dim=1)
        for hop in range(self.max_hops):
            m = self.A[hop](story).sum(dim=2)
            scores = torch.sum(m * u.unsqueeze(1), dim=2)
            p = F.softmax(scores, dim=0)
            c = self.A[hop + 1](story).sum(dim=2)
            o = torch.sum(c * p.unsqueeze(2), dim=1)
            u = u + o
        return u @ self.A[self.max_hops].weight.t()


def example_inputs():
    return torch.randint(0, 40, (4, 10, 6)), torch.randint(0, 40, (4, 6))
