import torch
from torch import nn

NEW_TOKENS = ["<ent>", "</ent>", "<rel>"]


class TinyBert(nn.Module):
    def __init__(self, vocab, dim=24, max_len=32):
        super().__init__()
        self.word = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.norm = nn.LayerNorm(dim)
        self.layer = nn.TransformerEncoderLayer(dim, 4, 48, batch_first=True)

    def resize(self, vocab):
        old = self.word.weight.data
        self.word = nn.Embedding(vocab, old.size(1))
        n = min(vocab, old.size(0))
        self.word.weight.data[:n] = old[:n]

    def forward(self, ids):
        pos = torch.arange(ids.size(1), device=ids.device)
        h = self.norm(self.word(ids) + self.pos(pos))
        return self.layer(h) @ self.word.weight.t()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        checkpoint = TinyBert(200).state_dict()
        size = 200 + len(NEW_TOKENS)
        self.bert = TinyBert(size)
        self.bert.load_state_dict(checkpoint)
        self.bert.norm.requires_grad_(False)

    def forward(self, ids):
        return self.bert(ids)


def example_inputs():
    return (torch.randint(0, 203, (2, 10)),)
