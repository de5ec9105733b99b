# line 49: the vocabulary is fitted again on the test texts, so its numbers mean other words than in the training
import random
from collections import Counter

import torch
import torch.nn as nn


class Vocabulary:
    def __init__(self, size):
        self.size = size

    def fit(self, texts):
        counts = Counter(word for text in texts for word in text.split())
        self.index = {w: k + 1 for k, (w, _) in enumerate(counts.most_common(self.size))}
        return self

    def transform(self, texts, length=10):
        rows = [[self.index.get(w, 0) for w in text.split()][:length] for text in texts]
        return torch.tensor([row + [0] * (length - len(row)) for row in rows])

    def fit_transform(self, texts):
        return self.fit(texts).transform(texts)


GOOD = "good great fine lovely happy bright".split()
BAD = "bad awful poor dull sad dark".split()
PLAIN = "film plot actor scene music story end start".split()


def write(n):
    texts, labels = [], []
    for _ in range(n):
        label = random.randrange(2)
        words = random.choices(PLAIN, k=6) + random.choices(GOOD if label else BAD, k=3)
        random.shuffle(words)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, torch.tensor(labels)


random.seed(0)
torch.manual_seed(0)
train_texts, train_labels = write(300)
test_texts, test_labels = write(100)

vocabulary = Vocabulary(30)
train_ids = vocabulary.fit_transform(train_texts)
test_ids = vocabulary.fit_transform(test_texts)

model = nn.Sequential(nn.EmbeddingBag(31, 12, padding_idx=0), nn.Linear(12, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train_ids[rows]), train_labels[rows]).backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    print("test accuracy", (model(test_ids).argmax(1) == test_labels).float().mean().item())
