import random
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)

GOOD = ["great", "lovely", "funny", "clever", "moving"]
BAD = ["dull", "awful", "boring", "stupid", "flat"]
OTHER = ["movie", "plot", "acting", "music", "ending", "scene", "cast", "really", "quite", "rather"]


def make_review():
    """short review; a 'not' in front of the adjective turns its meaning around"""
    positive = random.random() < 0.5
    negated = random.random() < 0.6
    pool = GOOD if positive != negated else BAD
    words = random.choices(OTHER, k=random.randint(1, 5))
    if negated:
        words += ["not"]
    words += [random.choice(pool)]
    words += random.sample(OTHER, random.randint(0, 2))
    return " ".join(words), int(positive)


train_reviews = [make_review() for _ in range(1500)]
test_reviews = [make_review() for _ in range(300)]

counter = Counter(w for text, _ in train_reviews for w in text.split())
stoi = {w: i for i, (w, _) in enumerate(counter.most_common(), start=1)}
vocab_size = len(stoi) + 1
print("vocabulary:", vocab_size, "most common:", counter.most_common(3))


class ReviewDataset(Dataset):
    def __init__(self, reviews):
        self.reviews = reviews

    def __len__(self):
        return len(self.reviews)

    def __getitem__(self, idx):
        text, label = self.reviews[idx]
        return torch.tensor([stoi[w] for w in text.split()]), label


def collate_batch(batch):
    texts, labels = zip(*batch)
    texts = pad_sequence(texts, batch_first=True, padding_value=0)
    return texts, torch.tensor(labels, dtype=torch.float)


class SentimentModel(nn.Module):
    def __init__(self, vocab_size, emb_dim=24, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.hidden = nn.Linear(emb_dim, hidden)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        mask = (x != 0).unsqueeze(-1).float()
        emb = self.embedding(x)
        pooled = (emb * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        h = torch.relu(self.hidden(self.dropout(pooled)))
        return self.out(h).squeeze(1)


train_loader = DataLoader(ReviewDataset(train_reviews), batch_size=50, shuffle=True, collate_fn=collate_batch)
test_loader = DataLoader(ReviewDataset(test_reviews), batch_size=100, collate_fn=collate_batch)

model = SentimentModel(vocab_size)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(12):
    model.train()
    epoch_loss = 0
    for texts, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(texts), labels)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for texts, labels in test_loader:
            correct += ((model(texts) > 0).float() == labels).sum().item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {epoch_loss / len(train_loader):.3f}, test acc {correct / len(test_reviews):.3f}")
