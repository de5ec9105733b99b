import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(1)
torch.manual_seed(1)

GOOD = "great lovely superb fun warm brilliant charming clever".split()
BAD = "dull awful boring weak messy slow flat tired".split()
NEUTRAL = "the film plot actor scene was and with a quite director music story end".split()


def review():
    label = int(random.random() < 0.5)
    own, other = (GOOD, BAD) if label else (BAD, GOOD)
    words = [random.choice(NEUTRAL) for _ in range(random.randint(6, 18))]
    words += [random.choice(own) for _ in range(2)] + [random.choice(other) for _ in range(random.randint(0, 2))]
    random.shuffle(words)
    return words, label


train_data = [review() for _ in range(1500)]
test_data = sorted((review() for _ in range(500)), key=lambda r: len(r[0]))
counts = Counter(w for words, _ in train_data for w in words)
stoi = {w: i + 1 for i, (w, _) in enumerate(counts.most_common())}


def collate(batch):
    ids = pad_sequence([torch.tensor([stoi[w] for w in words]) for words, _ in batch], batch_first=True)
    return ids, torch.tensor([label for _, label in batch])


class AvgClassifier(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1).float()
        pooled = (self.emb(ids) * mask).sum(1) / mask.sum(1)
        return self.head(pooled)


def evaluate(model, loader):
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for ids, labels in loader:
            predictions = model(ids).argmax(dim=1)
            correct += (predictions == labels).sum().item()
            total += labels.size(0)
            accuracy = correct / total
            return accuracy


train_loader = DataLoader(train_data, batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(test_data, batch_size=32, collate_fn=collate)
model = AvgClassifier(len(stoi) + 1)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    running = 0.0
    for ids, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    acc = evaluate(model, test_loader)
    print(f"epoch {epoch + 1}: loss {running / len(train_loader):.4f}, test accuracy {acc:.4f}")
