import torch
import torch.nn as nn


class Attn(nn.Module):
    """Scores every encoder output against the decoder state (time-major)."""

    def __init__(self, hid):
        super().__init__()
        self.attn = nn.Linear(2 * hid, hid)
        self.v = nn.Linear(hid, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        src_len = encoder_outputs.size(0)
        h = hidden.unsqueeze(0).repeat(src_len, 1, 1)
        energy = torch.tanh(self.attn(torch.cat([h, encoder_outputs], dim=2)))
        scores = self.v(energy)
        weights = torch.softmax(scores, dim=1)
        return (weights * encoder_outputs).sum(dim=0)


class Model(nn.Module):
    def __init__(self, vocab=44, hid=20):
        super().__init__()
        self.emb = nn.Embedding(vocab, hid)
        self.encoder = nn.GRU(hid, hid)
        self.attn = Attn(hid)
        self.out = nn.Linear(2 * hid, vocab)

    def forward(self, src):
        outputs, h = self.encoder(self.emb(src))
        context = self.attn(h[-1], outputs)
        return self.out(torch.cat([context, h[-1]], dim=-1))


def example_inputs():
    # torchtext style: (src_len, batch)
    return (torch.randint(0, 44, (12, 5)),)
