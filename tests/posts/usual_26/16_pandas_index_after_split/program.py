import re
from collections import Counter

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, Dataset

GOOD = "great friendly tasty lovely quick fresh cosy".split()
BAD = "slow rude cold dirty bland noisy late".split()
PLAIN = "the food service place table waiter was and we had a very menu".split()


def fake_reviews(n=500, seed=13):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        positive = int(rng.random() < 0.5)
        words = list(rng.choice(PLAIN, rng.integers(6, 15)))
        words += list(rng.choice(GOOD if positive else BAD, rng.integers(1, 4)))
        rng.shuffle(words)
        rows.append({"review": " ".join(words), "positive": positive})
    return pd.DataFrame(rows)


def tokenize(text):
    return re.findall(r"[a-z]+", text.lower())


class Vocab:
    def __init__(self, texts, min_count=2):
        counts = Counter(w for t in texts for w in tokenize(t))
        kept = [w for w, c in counts.most_common() if c >= min_count]
        self.stoi = {"<pad>": 0, "<unk>": 1, **{w: i + 2 for i, w in enumerate(kept)}}

    def __len__(self):
        return len(self.stoi)

    def encode(self, text, length):
        ids = [self.stoi.get(w, 1) for w in tokenize(text)][:length]
        return ids + [0] * (length - len(ids))


class ReviewDataset(Dataset):
    def __init__(self, frame, vocab, length=20):
        self.reviews = frame["review"]
        self.targets = frame["positive"]
        self.vocab = vocab
        self.length = length

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, idx):
        ids = self.vocab.encode(self.reviews[idx], self.length)
        return torch.tensor(ids), torch.tensor(self.targets[idx], dtype=torch.float32)


class TextCNN(nn.Module):
    def __init__(self, n_words, dim=32, maps=24, widths=(2, 3, 4)):
        super().__init__()
        self.embedding = nn.Embedding(n_words, dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, maps, w) for w in widths)
        self.fc = nn.Linear(maps * len(widths), 1)

    def forward(self, ids):
        e = self.embedding(ids).transpose(1, 2)
        pooled = [torch.relu(c(e)).amax(dim=2) for c in self.convs]
        return self.fc(torch.cat(pooled, dim=1)).squeeze(1)


df = fake_reviews()
train_df, test_df = train_test_split(df, test_size=0.2, random_state=13, stratify=df["positive"])
vocab = Vocab(train_df["review"])
train_loader = DataLoader(ReviewDataset(train_df, vocab), batch_size=32)
test_loader = DataLoader(ReviewDataset(test_df, vocab), batch_size=100)

torch.manual_seed(13)
model = TextCNN(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.BCEWithLogitsLoss()

for epoch in range(3):
    model.train()
    for ids, target in train_loader:
        loss = loss_fn(model(ids), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        ids, target = next(iter(test_loader))
        acc = ((model(ids) > 0).float() == target).float().mean().item()
    print(f"epoch={epoch} loss={loss.item():.3f} acc={acc:.3f}")
