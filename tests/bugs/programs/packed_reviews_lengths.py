import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

PAD = 0


class Model(nn.Module):
    """IMDB sentiment with packed sequences."""

    def __init__(self, n_words=400, dim=32):
        super().__init__()
        self.emb = nn.Embedding(n_words, dim, padding_idx=PAD)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.cls = nn.Linear(dim, 2)

    def forward(self, tokens):
        lengths = (tokens != PAD).sum(dim=0)
        x = self.emb(tokens)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (h, _) = self.rnn(packed)
        return self.cls(h[-1])


def example_inputs():
    ids = torch.randint(1, 400, (4, 15))
    for row, n in enumerate([15, 11, 7, 3]):
        ids[row, n:] = PAD
    return (ids,)
