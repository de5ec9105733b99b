import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

random.seed(35)
torch.manual_seed(35)

POSITIVE = ["good", "great", "fine", "lovely"]
NEGATIVE = ["bad", "awful", "poor", "boring"]
NEUTRAL = ["the", "film", "was", "plot", "actor", "scene", "and", "so"]
vocab = {w: i + 1 for i, w in enumerate(POSITIVE + NEGATIVE + NEUTRAL)}


def make_review():
    label = random.randint(0, 1)
    words = random.choices(NEUTRAL, k=random.randint(1, 40))
    words.insert(random.randrange(len(words) + 1), random.choice(POSITIVE if label else NEGATIVE))
    return [vocab[w] for w in words], label


def collate(batch):
    ids = pad_sequence([torch.tensor(tokens) for tokens, _ in batch], batch_first=True)
    lengths = torch.tensor([len(tokens) for tokens, _ in batch])
    return ids, lengths, torch.tensor([label for _, label in batch])


class SentimentGRU(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, 16, padding_idx=0)
        self.gru = nn.GRU(16, 32, batch_first=True)
        self.fc = nn.Linear(32, 2)

    def forward(self, ids, lengths):
        out, _ = self.gru(self.emb(ids))
        last = out[:, -1]
        return self.fc(last)


data = [make_review() for _ in range(1000)]
train_loader = DataLoader(data[:800], batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(data[800:], batch_size=50, collate_fn=collate)
model = SentimentGRU(len(vocab) + 1)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    for ids, lengths, y in train_loader:
        optimizer.zero_grad()
        criterion(model(ids, lengths), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(i, n).argmax(1) == y).sum().item() for i, n, y in test_loader)
    print(f"epoch {epoch}: test accuracy {hits / 200:.3f}")
