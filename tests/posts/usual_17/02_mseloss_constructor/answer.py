import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

np.random.seed(42)
torch.manual_seed(42)


class HousingDataset(Dataset):
    def __init__(self, X, y):
        self.X = torch.tensor(X, dtype=torch.float32)
        self.y = torch.tensor(y, dtype=torch.float32).view(-1, 1)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, idx):
        return self.X[idx], self.y[idx]


def load_data(n=600):
    rooms = np.random.randint(1, 8, n)
    area = np.random.normal(90, 30, n)
    age = np.random.randint(0, 80, n)
    dist = np.random.exponential(5, n)
    price = 30 * rooms + 2.1 * area - 0.4 * age - 3 * dist + np.random.normal(0, 10, n)
    X = np.stack([rooms, area, age, dist], axis=1)
    return X, price


class Regressor(nn.Module):
    def __init__(self, n_in, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x)


X, y = load_data()
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=1)
xs, ys = StandardScaler(), StandardScaler()
X_train = xs.fit_transform(X_train)
X_val = xs.transform(X_val)
y_train = ys.fit_transform(y_train.reshape(-1, 1)).ravel()
y_val = ys.transform(y_val.reshape(-1, 1)).ravel()

train_dl = DataLoader(HousingDataset(X_train, y_train), batch_size=32, shuffle=True)
val_dl = DataLoader(HousingDataset(X_val, y_val), batch_size=64)

model = Regressor(X_train.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
history = []

for epoch in range(10):
    model.train()
    epoch_loss = 0
    for xb, yb in train_dl:
        pred = model(xb)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val = np.mean([((model(a) - b) ** 2).mean().item() for a, b in val_dl])
    history.append((epoch_loss / len(X_train), val))
    print(f'epoch {epoch}: train {history[-1][0]:.4f} val {val:.4f}')
