"""Kaggle: is this product review helpful?  TF-IDF features + a small MLP."""
import random

import numpy as np
import torch
import torch.nn as nn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset

random.seed(7)
torch.manual_seed(7)

USEFUL = "battery screen weeks compared measured works fits size material returned because".split()
USELESS = "wow great awesome love bad meh ok nice super terrible best ever".split()
COMMON = "the a it this was and for with my product i bought very".split()


def fake_review(helpful):
    words = random.choices(COMMON, k=random.randint(6, 14))
    words += random.choices(USEFUL if helpful else USELESS, k=random.randint(2, 5))
    words += random.choices(USELESS + USEFUL, k=2)
    random.shuffle(words)
    return " ".join(words)


labels = np.array([random.randint(0, 1) for _ in range(1200)])
texts = [fake_review(y) for y in labels]

txt_train, txt_val, y_train, y_val = train_test_split(
    texts, labels, test_size=0.2, stratify=labels, random_state=0
)

vectorizer = TfidfVectorizer(max_features=2000, ngram_range=(1, 2), sublinear_tf=True)
X_train = vectorizer.fit_transform(txt_train)
X_val = vectorizer.transform(txt_val)
print("train matrix:", X_train.shape, "val matrix:", X_val.shape)


class ReviewDataset(Dataset):
    def __init__(self, features, targets):
        self.features = features
        self.targets = torch.tensor(targets, dtype=torch.float32)

    def __len__(self):
        return len(self.features)

    def __getitem__(self, i):
        row = self.features[i].toarray().squeeze(0)
        return torch.tensor(row, dtype=torch.float32), self.targets[i]


train_dl = DataLoader(ReviewDataset(X_train, y_train), batch_size=64, shuffle=True)
val_dl = DataLoader(ReviewDataset(X_val, y_val), batch_size=256)


class Net(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


model = Net(X_train.shape[1])
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.BCEWithLogitsLoss()

for epoch in range(4):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(yb)

    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in val_dl:
            hits += ((model(xb) > 0).float() == yb).sum().item()
    print(f"epoch {epoch}: loss {total / len(y_train):.4f}  val acc {hits / len(y_val):.3f}")
