import csv
import io
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

WORDS = {-1: ['awful', 'late', 'broken', 'sad'], 0: ['today', 'train', 'office', 'meeting'],
         1: ['great', 'happy', 'thanks', 'love']}


def make_csv(n):
    random.seed(8)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(['text', 'label'])
    for _ in range(n):
        label = random.choice([-1, 0, 1])
        words = random.choices(WORDS[label] + WORDS[0], k=random.randint(4, 9))
        writer.writerow([' '.join(words), label])
    buffer.seek(0)
    return buffer


class TweetData(Dataset):
    def __init__(self, handle, max_length=10):
        rows = list(csv.DictReader(handle))
        vocabulary = sorted({w for r in rows for w in r['text'].split()})
        self.stoi = {w: i + 1 for i, w in enumerate(vocabulary)}
        self.ids, self.labels = [], []
        for r in rows:
            ids = [self.stoi[w] for w in r['text'].split()][:max_length]
            self.ids.append(ids + [0] * (max_length - len(ids)))
            self.labels.append(int(r['label']))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.tensor(self.ids[i]), torch.tensor(self.labels[i])


class TextClassifier(nn.Module):
    def __init__(self, vocab_size, num_labels=3, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(2 * dim, num_labels)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids))
        mask = (ids != 0).unsqueeze(-1)
        pooled = (states * mask).sum(1) / mask.sum(1).clamp_min(1)
        return self.classifier(pooled)


data = TweetData(make_csv(70))
loader = DataLoader(data, batch_size=32, shuffle=True)
model = TextClassifier(len(data.stoi) + 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(3):
    for ids, labels in loader:
        logits = model(ids)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f'epoch {epoch} loss {loss.item():.3f}')
