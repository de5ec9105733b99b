import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(1)
torch.manual_seed(1)

WORDS = ["good", "bad", "movie", "plot", "boring", "great", "actor", "the", "a", "was",
         "loved", "hated", "slow", "fun", "music", "scene", "ending", "very", "not", "i"]
POSITIVE = {"good", "great", "loved", "fun"}

stoi = {"<pad>": 0, "<unk>": 1}
for w in WORDS:
    stoi[w] = len(stoi)


def make_review():
    tokens = [random.choice(WORDS) for _ in range(random.randint(5, 25))]
    label = int(any(t in POSITIVE for t in tokens[:6]))
    return tokens, label


reviews = [make_review() for _ in range(256)]


def collate(batch):
    seqs = [torch.tensor([stoi.get(t, 1) for t in tokens]) for tokens, _ in batch]
    lengths = torch.tensor([len(s) for s in seqs])
    labels = torch.tensor([label for _, label in batch], dtype=torch.float32)
    return pad_sequence(seqs, batch_first=True, padding_value=0), lengths, labels


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden_dim=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * hidden_dim, 1)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        hidden = self.dropout(torch.cat((hidden[-2], hidden[-1]), dim=1))
        return self.fc(hidden).squeeze(1)


loader = DataLoader(reviews, batch_size=32, shuffle=True, collate_fn=collate)
model = SentimentLSTM(vocab_size=len(stoi))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(3):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for text, lengths, labels in loader:
        logits = model(text, lengths)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * labels.size(0)
        correct += ((logits > 0) == labels.bool()).sum().item()
        seen += labels.size(0)
    print(f"Epoch {epoch + 1} | loss {total / seen:.3f} | acc {correct / seen:.3f}")
