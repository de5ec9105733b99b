import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

WORDS = ["good", "bad", "movie", "plot", "actor", "boring", "great", "the", "was", "a", "very", "not"]
vocab = {"<pad>": 0, "<unk>": 1}
for w in WORDS:
    vocab[w] = len(vocab)


class ReviewDataset(Dataset):
    def __init__(self, n=200):
        self.reviews = [" ".join(random.choices(WORDS, k=random.randint(4, 20))) for _ in range(n)]
        self.labels = [int("good" in r or "great" in r) for r in self.reviews]

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, idx):
        ids = [vocab.get(w, 1) for w in self.reviews[idx].split()]
        return torch.tensor(ids), torch.tensor(self.labels[idx], dtype=torch.float)


def collate(batch):
    ids, labels = zip(*batch)
    return pad_sequence(ids, batch_first=True, padding_value=0), torch.stack(labels)


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, dim=32, hidden=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(self.embedding(x))
        mask = (x != 0).unsqueeze(-1)
        pooled = (out * mask).sum(dim=1) / mask.sum(dim=1)
        return self.fc(pooled).squeeze(1)


random.seed(0)
torch.manual_seed(0)
dataset = ReviewDataset()
loader = DataLoader(dataset, batch_size=16, shuffle=True, collate_fn=collate)
model = SentimentLSTM(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.BCEWithLogitsLoss()

for epoch in range(3):
    total = 0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
