import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split
from torch.utils.data import Dataset, DataLoader

np.random.seed(0)
torch.manual_seed(0)

symptoms = ["fever", "cough", "headache", "fatigue", "rash", "nausea", "chills", "pain"]
rows = []
for _ in range(500):
    label = np.random.randint(3)
    words = np.random.choice(symptoms[label * 2:label * 2 + 4], size=6)
    rows.append((" ".join(words), label))
df = pd.DataFrame(rows, columns=["text", "label"])
word2idx = {w: i for i, w in enumerate(symptoms)}


class NotesDataset(Dataset):
    def __init__(self, df, word2idx):
        self.texts = df["text"]
        self.labels = df["label"]
        self.word2idx = word2idx

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        text = self.texts.iloc[index]
        label = self.labels.iloc[index]
        ids = torch.tensor([self.word2idx[w] for w in text.split()])
        return ids, torch.tensor(label)


class BagClassifier(nn.Module):
    def __init__(self, vocab_size, num_classes):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab_size, 16, mode="mean")
        self.fc = nn.Linear(16, num_classes)

    def forward(self, ids):
        return self.fc(self.emb(ids))


train_df, val_df = train_test_split(df, test_size=0.2, random_state=42, stratify=df["label"])
train_loader = DataLoader(NotesDataset(train_df, word2idx), batch_size=32, shuffle=True)
val_loader = DataLoader(NotesDataset(val_df, word2idx), batch_size=32)

model = BagClassifier(len(symptoms), 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    for ids, labels in train_loader:
        loss = loss_fn(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.no_grad():
        for ids, labels in val_loader:
            hits += (model(ids).argmax(1) == labels).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} val acc {hits / len(val_df):.3f}")
