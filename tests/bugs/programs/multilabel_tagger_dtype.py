import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.bag = nn.EmbeddingBag(300, 32, mode="mean")
        self.out = nn.Linear(32, n_tags)

    def forward(self, words):
        return self.out(torch.relu(self.bag(words)))


class Model(nn.Module):
    def __init__(self, n_tags=8):
        super().__init__()
        self.tagger = Tagger(n_tags)

    def pos_weight(self, tags):
        n_pos = tags.sum(dim=1)
        n_neg = tags.size(0) - n_pos
        return n_neg.float() / n_pos.clamp(min=1).float()

    def forward(self, words, tags):
        logits = self.tagger(words)
        weight = self.pos_weight(tags)
        focus = weight * logits.sigmoid()
        loss = F.binary_cross_entropy_with_logits(logits, tags, pos_weight=weight)
        return loss, focus.detach()


def example_inputs():
    tags = torch.randint(0, 2, (4, 8))
    return torch.randint(0, 300, (4, 11)), tags
