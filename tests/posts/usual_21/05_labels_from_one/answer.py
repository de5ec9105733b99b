import random
from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

random.seed(0)
torch.manual_seed(0)

WORDS = {
    1: ["awful", "broken", "refund", "terrible"],
    2: ["poor", "slow", "disappointing", "cheap"],
    3: ["okay", "average", "fine", "decent"],
    4: ["good", "solid", "nice", "fast"],
    5: ["great", "excellent", "perfect", "love"],
}
FILLER = ["the", "product", "was", "delivery", "and", "very", "it", "is"]


def make_reviews(n):
    reviews = []
    for _ in range(n):
        stars = random.randint(1, 5)
        words = random.choices(WORDS[stars], k=3) + random.choices(FILLER, k=7)
        random.shuffle(words)
        reviews.append((" ".join(words), stars))
    return reviews


class ReviewDataset(Dataset):
    def __init__(self, reviews, vocab):
        self.reviews = reviews
        self.vocab = vocab

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, i):
        text, stars = self.reviews[i]
        ids = [self.vocab.get(w, 0) for w in text.split()]
        return torch.tensor(ids), torch.tensor(stars - 1)


class TextClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_classes):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, mode="mean")
        self.fc = nn.Linear(embed_dim, num_classes)

    def forward(self, ids):
        return self.fc(self.embedding(ids))


reviews = make_reviews(600)
counts = Counter(w for text, _ in reviews for w in text.split())
vocab = {"<unk>": 0}
for word in counts:
    vocab[word] = len(vocab)

loader = DataLoader(ReviewDataset(reviews, vocab), batch_size=30, shuffle=True)
model = TextClassifier(len(vocab), 32, num_classes=5)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(4):
    total_loss, correct = 0.0, 0
    for ids, labels in loader:
        optimizer.zero_grad()
        logits = model(ids)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(labels)
        correct += (logits.argmax(1) == labels).sum().item()
    print(f"epoch {epoch}: loss {total_loss / 600:.3f} acc {correct / 600:.3f}")
