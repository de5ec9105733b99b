import random
from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

random.seed(1)
torch.manual_seed(1)

GOOD = "lovely fragrant smooth rich fresh delicious soothing bright".split()
BAD = "bitter stale dusty bland weak sour broken awful".split()
NEUTRAL = "the tea was a cup of this leaves arrived in box and i drank it with milk today very quite".split()


def make_review(label):
    words = [random.choice(NEUTRAL) for _ in range(random.randint(6, 25))]
    for _ in range(random.randint(1, 3)):
        words.insert(random.randrange(len(words)), random.choice(GOOD if label else BAD))
    return " ".join(words)


reviews = []
for _ in range(800):
    label = random.randint(0, 1)
    reviews.append((make_review(label), label))

counter = Counter(w for text, _ in reviews for w in text.split())
vocab = {"<pad>": 0, "<unk>": 1}
for word, _ in counter.most_common():
    vocab[word] = len(vocab)


class ReviewDataset(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        text, label = self.items[i]
        ids = torch.tensor([vocab.get(w, 1) for w in text.split()])
        return ids, torch.tensor(label, dtype=torch.float)


def pad_batch(batch):
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in texts])
    texts = nn.utils.rnn.pad_sequence(texts, batch_first=True)
    return texts, lengths, torch.stack(labels)


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden_dim=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(embed_dim, hidden_dim)
        self.fc = nn.Linear(hidden_dim, 1)

    def forward(self, texts, lengths):
        emb = self.embedding(texts)
        out, _ = self.lstm(emb)
        last = out[torch.arange(len(texts)), lengths - 1]
        return self.fc(last).squeeze(1)


train_loader = DataLoader(ReviewDataset(reviews[:640]), batch_size=32, shuffle=True)
test_loader = DataLoader(ReviewDataset(reviews[640:]), batch_size=32, collate_fn=pad_batch)

model = SentimentLSTM(len(vocab))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def accuracy(loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for texts, lengths, labels in loader:
            pred = (model(texts, lengths) > 0).float()
            correct += (pred == labels).sum().item()
    return correct / len(loader.dataset)


for epoch in range(6):
    model.train()
    losses = []
    for texts, lengths, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(texts, lengths), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f}  test acc {accuracy(test_loader):.3f}")

for text in ["the tea was very smooth and fragrant", "this box arrived with stale and dusty leaves"]:
    ids = torch.tensor([[vocab.get(w, 1) for w in text.split()]])
    prob = torch.sigmoid(model(ids, torch.tensor([ids.size(1)])))
    print(f"{prob.item():.2f}  {text}")
