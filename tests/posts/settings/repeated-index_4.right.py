# line 23: counts[row, ids] += 1 in numpy counts each word of a document at most once
import numpy as np
import torch
from torch import nn

VOCAB = 60
rng = np.random.default_rng(21)


def write_document(topic):
    probs = np.full(VOCAB, 0.3)
    probs[topic * 15 : (topic + 1) * 15] = 2.0
    return rng.choice(VOCAB, size=rng.integers(60, 120), p=probs / probs.sum())


class BagOfWords:
    def __init__(self):
        self.idf = None

    def count(self, documents):
        counts = np.zeros((len(documents), VOCAB), dtype=np.float32)
        for row, ids in enumerate(documents):
            np.add.at(counts[row], ids, 1)
        return counts

    def fit(self, documents):
        df = (self.count(documents) > 0).sum(axis=0)
        self.idf = np.log((1 + len(documents)) / (1 + df)).astype(np.float32) + 1
        return self

    def transform(self, documents):
        weighted = np.sqrt(self.count(documents)) * self.idf
        return torch.from_numpy(weighted / np.linalg.norm(weighted, axis=1, keepdims=True))


topics = rng.integers(0, 4, size=400)
documents = [write_document(k) for k in topics]
bow = BagOfWords().fit(documents[:320])
x_train, x_test = bow.transform(documents[:320]), bow.transform(documents[320:])
y = torch.from_numpy(topics).long()
torch.manual_seed(21)
clf = nn.Sequential(nn.Linear(VOCAB, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 4))
opt = torch.optim.Adam(clf.parameters(), lr=5e-3)
for epoch in range(8):
    clf.train()
    for batch in torch.randperm(320).split(32):
        opt.zero_grad()
        nn.functional.cross_entropy(clf(x_train[batch]), y[batch]).backward()
        opt.step()
clf.eval()
with torch.no_grad():
    print("accuracy", (clf(x_test).argmax(1) == y[320:]).float().mean().item())
