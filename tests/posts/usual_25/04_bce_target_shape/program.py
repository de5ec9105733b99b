import random
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

random.seed(1)
torch.manual_seed(1)

POSITIVE = ["great", "lovely", "superb", "fun", "moving"]
NEGATIVE = ["awful", "boring", "dull", "bad", "weak"]
NEUTRAL = ["the", "film", "plot", "was", "actor", "scene", "and", "a", "very"]
VOCAB = {w: i + 1 for i, w in enumerate(POSITIVE + NEGATIVE + NEUTRAL)}


class ReviewDataset(Dataset):
    def __init__(self, n, max_len=12):
        self.items = []
        for _ in range(n):
            label = random.randint(0, 1)
            words = random.choices(NEUTRAL, k=random.randint(4, 9))
            words += random.choices(POSITIVE if label else NEGATIVE, k=2)
            random.shuffle(words)
            ids = [VOCAB[w] for w in words][:max_len]
            ids += [0] * (max_len - len(ids))
            self.items.append((ids, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        ids, label = self.items[idx]
        return torch.tensor(ids), torch.tensor(label, dtype=torch.float)


class SentimentClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.fc1 = nn.Linear(embed_dim, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        mask = (x != 0).unsqueeze(-1).float()
        pooled = (self.embedding(x) * mask).sum(1) / mask.sum(1)
        return torch.sigmoid(self.fc2(torch.relu(self.fc1(pooled))))


train_loader = DataLoader(ReviewDataset(400), batch_size=16, shuffle=True)
test_loader = DataLoader(ReviewDataset(100), batch_size=16)

model = SentimentClassifier(len(VOCAB) + 1)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(3):
    model.train()
    total = 0
    for text, label in train_loader:
        optimizer.zero_grad()
        output = model(text)
        loss = criterion(output, label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"Epoch {epoch}: train loss {total / len(train_loader):.4f}")

model.eval()
correct = 0
with torch.no_grad():
    for text, label in test_loader:
        preds = (model(text).squeeze(1) > 0.5).float()
        correct += (preds == label).sum().item()
print("Accuracy:", correct / len(test_loader.dataset))
