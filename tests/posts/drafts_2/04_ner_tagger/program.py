import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

random.seed(3)
torch.manual_seed(3)

NAMES = ["anna", "peter", "maria", "john"]
CITIES = ["berlin", "paris", "oslo", "rome"]
WORDS = ["lives", "in", "works", "near", "the", "old", "station", "of", "and", "visited"]
TAGS = ["O", "PER", "LOC"]
PAD_TAG = -100


def make_sentence():
    words, tags = [], []
    for _ in range(random.randint(4, 10)):
        r = random.random()
        if r < 0.2:
            words.append(random.choice(NAMES))
            tags.append("PER")
        elif r < 0.4:
            words.append(random.choice(CITIES))
            tags.append("LOC")
        else:
            words.append(random.choice(WORDS))
            tags.append("O")
    return words, tags


sentences = [make_sentence() for _ in range(300)]
word2idx = {"<pad>": 0}
for words, _ in sentences:
    for w in words:
        if w not in word2idx:
            word2idx[w] = len(word2idx)
tag2idx = {t: i for i, t in enumerate(TAGS)}


class NerDataset(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        words, tags = self.data[i]
        return (torch.tensor([word2idx[w] for w in words]),
                torch.tensor([tag2idx[t] for t in tags]))


def collate(batch):
    xs, ys = zip(*batch)
    x = pad_sequence(xs, batch_first=True, padding_value=0)
    y = pad_sequence(ys, batch_first=True, padding_value=PAD_TAG)
    return x, y


class Tagger(nn.Module):
    def __init__(self, vocab_size, n_tags, emb=32, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(hidden, n_tags)

    def forward(self, x):
        out, _ = self.lstm(self.embedding(x))
        return self.fc(out)


train_loader = DataLoader(NerDataset(sentences[:240]), batch_size=16, shuffle=True, collate_fn=collate)
test_loader = DataLoader(NerDataset(sentences[240:]), batch_size=16, collate_fn=collate)

model = Tagger(len(word2idx), len(TAGS))
criterion = nn.CrossEntropyLoss(ignore_index=PAD_TAG)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")

model.eval()
correct, total = 0, 0
with torch.no_grad():
    for x, y in test_loader:
        pred = model(x).argmax(dim=-1)
        mask = y != PAD_TAG
        correct += (pred[mask] == y[mask]).sum().item()
        total += y.numel()
print(f"token accuracy: {correct / total:.3f}")
