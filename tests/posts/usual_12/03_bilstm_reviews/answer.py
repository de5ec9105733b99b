import re
from collections import Counter

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

SEED = 1234
np.random.seed(SEED)
torch.manual_seed(SEED)

pos = "great wonderful loved superb touching funny brilliant".split()
neg = "boring awful hated dull terrible weak pointless".split()
fill = "the movie was a plot actors scene with and really story ending it".split()


def make_review(label):
    n = np.random.randint(8, 30)
    words = list(np.random.choice(fill, n)) + list(np.random.choice(pos if label else neg, 4))
    np.random.shuffle(words)
    return " ".join(words) + "."


data = [(make_review(l), l) for l in np.random.randint(0, 2, 400)]
train_data, test_data = data[:320], data[320:]


def tokenize(text):
    return re.findall(r"[a-z']+", text.lower())


counter = Counter(w for text, _ in train_data for w in tokenize(text))
vocab = {"<pad>": 0, "<unk>": 1}
for w in counter:
    vocab[w] = len(vocab)


def collate(batch):
    ids = [torch.tensor([vocab.get(w, 1) for w in tokenize(t)]) for t, _ in batch]
    lengths = torch.tensor([len(i) for i in ids])
    labels = torch.tensor([l for _, l in batch], dtype=torch.float32)
    return pad_sequence(ids, batch_first=True), lengths, labels


train_iter = DataLoader(train_data, batch_size=32, shuffle=True, collate_fn=collate)
test_iter = DataLoader(test_data, batch_size=32, collate_fn=collate)


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, output_dim, n_layers, bidirectional, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=0)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, num_layers=n_layers,
                           bidirectional=bidirectional, dropout=dropout, batch_first=True)
        self.fc = nn.Linear(hidden_dim * 2 if bidirectional else hidden_dim, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True,
                                                   enforce_sorted=False)
        _, (hidden, _) = self.rnn(packed)
        hidden = self.dropout(torch.cat((hidden[-2], hidden[-1]), dim=1))
        return self.fc(hidden).squeeze(1)


model = SentimentLSTM(len(vocab), 50, 64, 1, n_layers=2, bidirectional=True, dropout=0.3)
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()


def evaluate(iterator):
    model.eval()
    good = 0
    with torch.no_grad():
        for text, lengths, labels in iterator:
            good += ((model(text, lengths) > 0).float() == labels).sum().item()
    return good / len(iterator.dataset)


for epoch in range(3):
    model.train()
    for text, lengths, labels in train_iter:
        optimizer.zero_grad()
        loss = criterion(model(text, lengths), labels)
        loss.backward()
        optimizer.step()
    print(f"Epoch {epoch + 1}: test acc {evaluate(test_iter):.3f}")
