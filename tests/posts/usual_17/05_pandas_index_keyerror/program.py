import re
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from collections import Counter
from torch.utils.data import Dataset, DataLoader
from sklearn.model_selection import train_test_split

torch.manual_seed(1)
np.random.seed(1)

GOOD = 'great love excellent happy perfect nice'.split()
BAD = 'terrible hate awful broken slow bad'.split()
NEUTRAL = 'the movie was a film and plot with actor scene it in this'.split()


def fake_review(label):
    pool = GOOD if label else BAD
    words = list(np.random.choice(NEUTRAL, 8)) + list(np.random.choice(pool, 3))
    np.random.shuffle(words)
    return ' '.join(words)


def tokenize(text):
    return re.findall(r'[a-z]+', text.lower())


class ReviewDataset(Dataset):
    def __init__(self, df, vocab, max_len=12):
        self.texts = df['review']
        self.labels = df['sentiment']
        self.vocab = vocab
        self.max_len = max_len

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        text = self.texts[idx]
        label = self.labels[idx]
        ids = [self.vocab.get(t, 1) for t in tokenize(text)][:self.max_len]
        ids += [0] * (self.max_len - len(ids))
        return torch.tensor(ids), torch.tensor(label, dtype=torch.float)


class BagModel(nn.Module):
    def __init__(self, vocab_size, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.fc = nn.Linear(dim, 1)

    def forward(self, x):
        return self.fc(self.emb(x).mean(1)).squeeze(1)


labels = np.random.randint(0, 2, 400)
df = pd.DataFrame({'review': [fake_review(l) for l in labels], 'sentiment': labels})
counter = Counter(t for r in df['review'] for t in tokenize(r))
vocab = {'<pad>': 0, '<unk>': 1}
for w, c in counter.most_common():
    vocab[w] = len(vocab)

train_df, test_df = train_test_split(df, test_size=0.2, random_state=42, stratify=df['sentiment'])
train_loader = DataLoader(ReviewDataset(train_df, vocab), batch_size=16, shuffle=True)
test_loader = DataLoader(ReviewDataset(test_df, vocab), batch_size=16)

model = BagModel(len(vocab))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(3):
    model.train()
    total = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = np.mean([((model(x) > 0).float() == y).float().mean().item() for x, y in test_loader])
    print(f'Epoch {epoch + 1}: loss={total / len(train_loader):.3f} acc={acc:.3f}')
