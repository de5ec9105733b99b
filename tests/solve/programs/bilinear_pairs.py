from torch import nn


class PairScorer(nn.Module):
    """Scores relations of head and tail entities."""

    def __init__(self, entities=20, dim=8, relations=4):
        super().__init__()
        self.embed = nn.Embedding(entities, dim)
        self.score = nn.Bilinear(dim, dim, relations)

    def forward(self, heads, tails):
        return self.score(self.embed(heads), self.embed(tails))
