import random
from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

random.seed(0)
torch.manual_seed(0)

POSITIVE = ["great", "lovely", "superb", "fun", "touching", "brilliant"]
NEGATIVE = ["boring", "awful", "dull", "weak", "slow", "terrible"]
NEUTRAL = ["the", "film", "plot", "was", "and", "a", "story", "with", "cast", "very"]


def make_review():
    label = random.randint(0, 1)
    words = random.choices(POSITIVE if label else NEGATIVE, k=3) + random.choices(NEUTRAL, k=6)
    random.shuffle(words)
    return " ".join(words), label


reviews = [make_review() for _ in range(600)]

counter = Counter(w for text, _ in reviews for w in text.split())
word2idx = {"<pad>": 0, "<unk>": 1}
for word, _ in counter.most_common():
    word2idx[word] = len(word2idx)


def encode(text, max_len=12):
    ids = [word2idx.get(w, word2idx["<unk>"]) for w in text.split()][:max_len]
    return ids + [word2idx["<pad>"]] * (max_len - len(ids))


class SentimentClassifier(nn.Module):
    def __init__(self, vocab_size, emb_dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.fc = nn.Linear(emb_dim, 2)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1).float()
        pooled = (self.embedding(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.fc(pooled)


dataset = [(torch.tensor(encode(text)), label) for text, label in reviews]
train_loader = DataLoader(dataset[:500], batch_size=32, shuffle=True)
test_loader = DataLoader(dataset[500:], batch_size=32)

model = SentimentClassifier(vocab_size=len(word2idx))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for ids, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = sum((model(ids).argmax(1) == labels).sum().item() for ids, labels in test_loader)
    print(f"epoch {epoch}: test accuracy {correct / len(test_loader.dataset):.3f}")
