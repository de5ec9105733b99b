import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)

EMOTIONS = ['angry', 'happy', 'sad', 'neutral']


class FaceDataset(Dataset):
    """48x48 grey faces stored as strings of pixels, like the FER csv."""

    def __init__(self, df):
        self.df = df.reset_index(drop=True)

    def __len__(self):
        return len(self.df)

    def __getitem__(self, i):
        row = self.df.iloc[i]
        px = np.array(row['pixels'].split(), dtype=np.float32).reshape(1, 24, 24) / 255.0
        return torch.from_numpy(px), int(row['emotion'])


def make_csv(n):
    rows = []
    for _ in range(n):
        e = np.random.randint(len(EMOTIONS))
        img = np.random.randint(0, 120, (24, 24))
        img[e * 6:e * 6 + 6] += 60
        rows.append({'emotion': e, 'pixels': ' '.join(map(str, img.ravel()))})
    return pd.DataFrame(rows)


class EmotionCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                    nn.MaxPool2d(2), nn.Dropout2d(0.25))
        self.block2 = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                                    nn.MaxPool2d(2), nn.Dropout2d(0.25))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 6 * 6, 64), nn.ReLU(),
                                  nn.Dropout(0.5), nn.Linear(64, len(EMOTIONS)))

    def forward(self, x):
        return self.head(self.block2(self.block1(x)))


def train(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def evaluate(model, loader):
    confusion = np.zeros((len(EMOTIONS), len(EMOTIONS)), dtype=int)
    with torch.no_grad():
        for x, y in loader:
            pred = model(x).argmax(dim=1)
            for t, p in zip(y.numpy(), pred.numpy()):
                confusion[t, p] += 1
    return confusion.trace() / confusion.sum(), confusion


df = make_csv(500)
train_loader = DataLoader(FaceDataset(df[:400]), batch_size=32, shuffle=True)
val_loader = DataLoader(FaceDataset(df[400:]), batch_size=32)

model = EmotionCNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    loss = train(model, train_loader, optimizer, criterion)
    acc, cm = evaluate(model, val_loader)
    print(f'epoch {epoch}: loss {loss:.4f} val acc {acc:.3f}')
print(cm)
