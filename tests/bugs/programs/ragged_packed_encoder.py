import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Model(nn.Module):
    def __init__(self, vocab=70, emb=8, hid=10, out=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hid, out)

    def forward(self, s0, s1, s2, s3):
        seqs = [s0, s1, s2, s3]
        lengths = torch.tensor([len(s) for s in seqs])
        x = self.emb(pad_sequence(seqs, batch_first=True))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, h = self.rnn(packed)
        flat = out.data
        padded, back = pad_packed_sequence(out, batch_first=True)
        assert back.equal(lengths)

        # forward direction at the last real step, backward direction at step 0
        last = (lengths - 1).view(-1, 1, 1).expand(-1, 1, padded.size(-1))
        fwd = padded.gather(1, last).squeeze(1)[:, :10]
        bwd = padded[:, 0, 10:]
        both = torch.cat([fwd, bwd], dim=1)
        assert torch.allclose(both, h.transpose(0, 1).flatten(1))
        return self.proj(both), padded, flat


def example_inputs():
    return tuple(torch.randint(0, 70, (n,)) for n in (5, 9, 2, 6))
