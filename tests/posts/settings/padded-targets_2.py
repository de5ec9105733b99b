# line 51: POS tags are padded with the class of nouns/PAD (0) by F.pad and nll_loss has no ignore_index for it
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

TAGS = ["<pad>", "DET", "NOUN", "VERB", "ADJ"]


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags):
        super().__init__()
        self.emb = nn.Embedding(n_words, 16, padding_idx=0)
        self.conv = nn.Conv1d(16, 32, 3, padding=1)
        self.lin = nn.Linear(32, n_tags)

    def forward(self, w):
        h = self.conv(self.emb(w).transpose(1, 2)).relu().transpose(1, 2)
        return self.lin(h).log_softmax(-1)


def to_length(seq, n):
    return F.pad(torch.from_numpy(seq), (0, n - len(seq)))


def bucketize(pairs, size):
    for s in range(0, len(pairs), size):
        part = pairs[s:s + size]
        n = max(len(w) for w, _ in part)
        yield (torch.stack([to_length(w, n) for w, _ in part]),
               torch.stack([to_length(t, n) for _, t in part]))


def sentences(count, rs):
    lexicon = rs.randint(1, len(TAGS), 61)
    for _ in range(count):
        words = rs.randint(1, 61, rs.randint(4, 25))
        yield words.astype(np.int64), lexicon[words].astype(np.int64)


def main():
    torch.manual_seed(3)
    rs = np.random.RandomState(3)
    pairs = list(sentences(200, rs))
    tagger = Tagger(61, len(TAGS))
    opt = torch.optim.SGD(tagger.parameters(), lr=0.3, momentum=0.9)
    for epoch in range(3):
        rs.shuffle(pairs)
        for words, tags in bucketize(pairs, 20):
            logp = tagger(words)
            loss = F.nll_loss(logp.reshape(-1, len(TAGS)), tags.reshape(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
