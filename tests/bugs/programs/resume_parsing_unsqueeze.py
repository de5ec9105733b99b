from torch import nn
import torch


class LayoutEmbedding(nn.Module):
    """Word + box + document-type embeddings."""

    def __init__(self, vocab=120, bins=50, n_types=3, dim=20):
        super().__init__()
        self.word = nn.Embedding(vocab, dim)
        self.x = nn.Embedding(bins, dim)
        self.y = nn.Embedding(bins, dim)
        self.kind = nn.Embedding(n_types, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids, boxes, kind):
        left, upper, right, lower = boxes.unbind(dim=-1)
        box = self.x(left) + self.x(right) + self.y(upper) + self.y(lower)
        doc = self.kind(kind).unsqueeze(3)
        return self.norm(self.word(ids) + box + doc)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = LayoutEmbedding()
        self.mix = nn.TransformerEncoderLayer(20, 2, 40, batch_first=True)

    def forward(self, ids, boxes, kind):
        return self.mix(self.embed(ids, boxes, kind))


def example_inputs():
    boxes = torch.randint(0, 50, (2, 5, 4))
    return {
        "ids": torch.randint(0, 120, (2, 5)),
        "boxes": boxes,
        "kind": torch.tensor([0, 2]),
    }
