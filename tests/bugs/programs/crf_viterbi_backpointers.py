import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocab=50, hidden=16, tags=7):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.rnn = nn.LSTM(hidden, hidden // 2, bidirectional=True)
        self.emit = nn.Linear(hidden, tags)
        self.trans = nn.Parameter(torch.randn(tags, tags) * 0.1)
        self.first = nn.Parameter(torch.zeros(tags))

    def forward(self, words, lengths):
        # words are (T, B): the LSTM is time-major
        feats = self.emit(self.rnn(self.emb(words))[0])
        T, B, K = feats.shape
        score = self.first + feats[0]
        back = []
        for t in range(1, T):
            step = score[:, :, None] + self.trans + feats[t][:, None]
            best, frm = step.max(dim=1)
            on = (t < lengths)[:, None]
            score = torch.where(on, best, score)
            back.append(torch.where(on, frm, torch.arange(K, device=frm.device)))
        total, tag = score.max(-1)
        path = [tag]
        for pointers in reversed(back):
            tag = pointers.gather(1, tag[:, None])[:, 0]
            path.insert(0, tag)
        path = torch.stack(path)
        real = torch.arange(T, device=path.device)[:, None] < lengths
        return total, path.where(real, path.new_full((), -1)).T


def example_inputs():
    return torch.randint(0, 50, (9, 4)), torch.tensor([9, 5, 7, 2])
