import torch
from torch import nn


class CoAttention(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.affinity = nn.Linear(dim, dim, bias=False)

    def forward(self, question: torch.Tensor, regions: torch.Tensor):
        # question (B, L, D), regions (B, R, D)
        query = self.affinity(question)
        scores = torch.bmm(query, regions)
        weights = torch.softmax(scores, dim=-1)
        context = torch.bmm(weights, regions)
        return context, weights


class Model(nn.Module):
    def __init__(self, vocab=300, dim=64):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.region_proj = nn.Linear(2048, dim)
        self.attend = CoAttention(dim)

    def forward(self, question_ids, region_feats):
        q = self.words(question_ids)
        r = torch.relu(self.region_proj(region_feats))
        context, weights = self.attend(q, r)
        return context.mean(dim=1), weights


def example_inputs():
    ids = torch.randint(0, 300, (6, 14))
    feats = torch.randn(6, 36, 2048)
    return ids, feats
