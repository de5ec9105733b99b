import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset

MESSAGES = [
    ("win a free prize now", 1),
    ("claim your cash reward today", 1),
    ("free entry in a weekly draw", 1),
    ("urgent call this number to win", 1),
    ("are we still meeting for lunch", 0),
    ("i will call you later tonight", 0),
    ("can you send me the notes", 0),
    ("happy birthday see you soon", 0),
]
df = pd.DataFrame(MESSAGES * 25, columns=["text", "spam"])
df["text"] = df["text"] + [" ref" + str(i % 7) for i in range(len(df))]


class SmsDataset(Dataset):
    def __init__(self, texts, labels, vocab):
        self.texts = texts
        self.labels = labels
        self.vocab = vocab

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        bow = torch.zeros(len(self.vocab))
        for word in self.texts[idx].split():
            if word in self.vocab:
                bow[self.vocab[word]] += 1
        label = torch.tensor(self.labels[idx], dtype=torch.float32)
        return bow, label


X_train, X_val, y_train, y_val = train_test_split(
    df["text"], df["spam"], test_size=0.25, random_state=42, stratify=df["spam"]
)
vocab = {w: i for i, w in enumerate(sorted({w for t in X_train for w in t.split()}))}

train_loader = DataLoader(SmsDataset(X_train, y_train, vocab), batch_size=16, shuffle=True)
val_loader = DataLoader(SmsDataset(X_val, y_val, vocab), batch_size=16)

torch.manual_seed(42)
model = nn.Sequential(nn.Linear(len(vocab), 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val_loader:
            pred = (model(x).squeeze(1) > 0).float()
            correct += (pred == y).sum().item()
    print(f"epoch {epoch}: val accuracy {correct / len(y_val):.3f}")
