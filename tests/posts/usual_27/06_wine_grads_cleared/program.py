import numpy as np
import torch
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset

FEATURES = ["acidity", "sugar", "chlorides", "sulphur", "density", "ph", "sulphates", "alcohol"]


def load_wines(n=900, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, len(FEATURES)))
    score = 1.2 * x[:, 7] - 0.8 * x[:, 0] + 0.6 * x[:, 6] * x[:, 1] + rng.normal(0, 0.3, n)
    y = np.digitize(score, [-0.7, 0.7])
    return x * 3.0 + 10.0, y


class Wines(Dataset):
    def __init__(self, x, y):
        self.x = torch.as_tensor(x, dtype=torch.float32)
        self.y = torch.as_tensor(y, dtype=torch.long)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, k):
        return self.x[k], self.y[k]


class WineScorer(nn.Module):
    def __init__(self, n_in, n_out, hidden=(48, 24), p=0.1):
        super().__init__()
        layers, last = [], n_in
        for h in hidden:
            layers.extend([nn.Linear(last, h), nn.ReLU(), nn.Dropout(p)])
            last = h
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(last, n_out)

    def forward(self, x):
        return self.out(self.body(x))


def fit_epoch(model, loader, criterion, optimizer, clip=1.0):
    model.train()
    running = 0.0
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.zero_grad()
        optimizer.step()
        running += loss.item() * len(y)
    return running / len(loader.dataset)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    guesses, truth = [], []
    for x, y in loader:
        guesses.append(model(x).argmax(dim=1))
        truth.append(y)
    guesses, truth = torch.cat(guesses), torch.cat(truth)
    return f1_score(truth.numpy(), guesses.numpy(), average="macro")


torch.manual_seed(1)
x, y = load_wines()
x_train, x_valid, y_train, y_valid = train_test_split(x, y, test_size=0.25, random_state=1)
scaler = StandardScaler().fit(x_train)
train_loader = DataLoader(Wines(scaler.transform(x_train), y_train), batch_size=32, shuffle=True)
valid_loader = DataLoader(Wines(scaler.transform(x_valid), y_valid), batch_size=128)

model = WineScorer(len(FEATURES), 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    loss = fit_epoch(model, train_loader, criterion, optimizer)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  loss {loss:.4f}  macro F1 {validate(model, valid_loader):.3f}")
