import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

GOOD = "great lovely superb crisp warm funny clever tender bright honest".split()
BAD = "dull awful noisy slow bland cheap broken stale clumsy rude".split()
FILL = "the film was a bit and it felt so very plot cast scene ending music".split()


def write_reviews(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        label = rng.randint(0, 1)
        words = rng.choices(FILL, k=rng.randint(4, 9)) + rng.choices(GOOD if label else BAD, k=3)
        rng.shuffle(words)
        rows.append((" ".join(words), label))
    return rows


def build_vocab(rows):
    counts = Counter(w for text, _ in rows for w in text.split())
    word2idx = {}
    for i, (word, _) in enumerate(counts.most_common(), start=1):
        word2idx[word] = i
    return word2idx


class Reviews(Dataset):
    def __init__(self, rows, word2idx):
        self.items = [
            (torch.tensor([word2idx[w] for w in text.split() if w in word2idx]), label) for text, label in rows
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    seqs, labels = zip(*batch)
    return pad_sequence(seqs, batch_first=True, padding_value=0), torch.tensor(labels, dtype=torch.float32)


class SentimentRNN(nn.Module):
    def __init__(self, input_dim, embed_dim=16, hidden_dim=24):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, embed_dim, padding_idx=0)
        self.rnn = nn.GRU(embed_dim, hidden_dim, batch_first=True)
        self.out = nn.Linear(hidden_dim, 1)

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        states, _ = self.rnn(embedded)
        return self.out(states.max(dim=1).values).squeeze(1)


torch.manual_seed(5)
train_rows = write_reviews(400, seed=0)
valid_rows = write_reviews(100, seed=1)
word2idx = build_vocab(train_rows)
print("words:", len(word2idx))

train_loader = DataLoader(Reviews(train_rows, word2idx), batch_size=20, shuffle=True, collate_fn=collate)
valid_loader = DataLoader(Reviews(valid_rows, word2idx), batch_size=50, collate_fn=collate)

INPUT_DIM = len(word2idx)
model = SentimentRNN(INPUT_DIM)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(4):
    model.train()
    epoch_loss = 0
    for tokens, labels in train_loader:
        optimizer.zero_grad()
        logits = model(tokens)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()

    model.eval()
    hits = 0
    with torch.no_grad():
        for tokens, labels in valid_loader:
            hits += ((model(tokens) > 0).float() == labels).sum().item()
    print(f"epoch {epoch}: loss {epoch_loss / len(train_loader):.3f}  valid acc {hits / len(valid_rows):.2f}")
