import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

POSITIVE = "great lovely superb fun brilliant warm moving".split()
NEGATIVE = "dull awful boring flat weak noisy clumsy".split()
NEUTRAL = "the film plot actor scene was and with a very".split()


class Reviews(Dataset):
    def __init__(self, n=200, seed=0):
        rng = random.Random(seed)
        self.vocab = {"<pad>": 0}
        for word in POSITIVE + NEGATIVE + NEUTRAL:
            self.vocab[word] = len(self.vocab)
        self.samples = []
        for _ in range(n):
            label = rng.randint(0, 1)
            words = rng.choices(NEUTRAL, k=rng.randint(4, 15))
            words += rng.choices(POSITIVE if label else NEGATIVE, k=3)
            rng.shuffle(words)
            self.samples.append((words, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        words, label = self.samples[i]
        return [self.vocab[w] for w in words], label


def collate_batch(batch):
    lengths = torch.tensor([len(ids) for ids, _ in batch])
    texts = torch.zeros(len(batch), int(lengths.max()), dtype=torch.long)
    for row, (ids, _) in enumerate(batch):
        texts[row, : len(ids)] = torch.tensor(ids)
    labels = torch.tensor([label for _, label in batch])
    return texts, lengths, labels


class MeanPoolClassifier(nn.Module):
    def __init__(self, vocab_size, emb_dim=32, n_classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.fc = nn.Sequential(nn.Linear(emb_dim, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, texts, lengths):
        emb = self.embedding(texts)
        pooled = emb.sum(dim=1) / lengths.unsqueeze(1)
        return self.fc(pooled)


torch.manual_seed(0)
reviews = Reviews()
loader = DataLoader(reviews, batch_size=20, shuffle=True, collate_fn=collate_batch)
model = MeanPoolClassifier(len(reviews.vocab))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(4):
    total_acc, total_count = 0, 0
    for texts, lengths, labels in loader:
        optimizer.zero_grad()
        predicted = model(texts, lengths)
        loss = criterion(predicted, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total_acc += (predicted.argmax(1) == labels).sum().item()
        total_count += labels.size(0)
    print(f"| epoch {epoch} | accuracy {total_acc / total_count:.3f}")
