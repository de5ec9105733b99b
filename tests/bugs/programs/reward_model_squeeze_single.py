import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, vocab=60, dim=16):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 1))

    def forward(self, answers):
        b, k, t = answers.shape
        flat = self.emb(answers.view(b * k, t))
        return self.mlp(flat).view(b, k, 1)


class Model(nn.Module):
    """Best-of-K weights of the answers to each prompt."""

    def __init__(self, temperature=0.7):
        super().__init__()
        self.scorer = Scorer()
        self.temperature = temperature

    def forward(self, answers):
        scores = self.scorer(answers)
        scores = scores.squeeze()
        scores = scores / self.temperature
        return scores.softmax(dim=-1)


def example_inputs():
    # interactive use: one prompt with four candidate answers
    return (torch.randint(0, 60, (1, 4, 12)),)
