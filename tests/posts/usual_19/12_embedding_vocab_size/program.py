from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F

corpus = [
    ("win a free prize now", 1),
    ("call me when you are home", 0),
    ("free cash claim your prize", 1),
    ("are we still meeting tomorrow", 0),
    ("urgent claim your free holiday now", 1),
    ("see you at home tomorrow", 0),
] * 10

counter = Counter()
for sentence, _ in corpus:
    counter.update(sentence.split())
words = [w for w, _ in counter.most_common()]
word2idx = {w: i + 2 for i, w in enumerate(words)}
vocab_size = len(words)
MAX_LEN = 8


def encode(sentence):
    ids = [word2idx.get(w, 1) for w in sentence.split()][:MAX_LEN]
    return ids + [0] * (MAX_LEN - len(ids))


X = torch.tensor([encode(s) for s, _ in corpus])
y = torch.tensor([label for _, label in corpus])


class SpamClassifier(nn.Module):
    def __init__(self, vocab_size, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 32, kernel_size=3, padding=1)
        self.fc = nn.Linear(32, 2)

    def forward(self, x):
        e = self.embedding(x).transpose(1, 2)
        h = F.relu(self.conv(e)).max(dim=2).values
        return self.fc(h)


model = SpamClassifier(vocab_size)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(X), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
print("train acc", (model(X).argmax(1) == y).float().mean().item())
