# line 53: the padding tag 9, which the loss ignores, is counted in the table of the tagger and lowers its accuracy
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

rng = np.random.default_rng(5)
torch.manual_seed(5)
TAGS = ["O", "PER", "LOC", "ORG", "MISC"]
PAD_TAG = 9


def sentence():
    words = rng.integers(1, 100, rng.integers(4, 14))
    return torch.from_numpy(words), torch.from_numpy(words % len(TAGS))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 24, padding_idx=0)
        self.conv = nn.Conv1d(24, 32, 3, padding=1)
        self.out = nn.Linear(32, len(TAGS))

    def forward(self, words):
        h = self.conv(self.emb(words).transpose(1, 2)).relu()
        return self.out(h.transpose(1, 2))


def batches(data, size):
    for start in range(0, len(data), size):
        words, tags = zip(*data[start : start + size])
        yield pad_sequence(words, True), pad_sequence(tags, True, padding_value=PAD_TAG)


data = [sentence() for _ in range(200)]
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    order = rng.permutation(160)
    for words, tags in batches([data[i] for i in order], 20):
        loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten(), ignore_index=PAD_TAG)
        opt.zero_grad()
        loss.backward()
        opt.step()

model.eval()
n, table = len(TAGS), 0
with torch.no_grad():
    for words, tags in batches(data[160:], 20):
        best = model(words).argmax(-1)
        pairs = (tags * n + best).reshape(-1)
        table = table + torch.bincount(pairs, minlength=(PAD_TAG + 1) * n)
table = table.view(-1, n)
print("accuracy", (table[:n].trace() / table.sum()).item())
