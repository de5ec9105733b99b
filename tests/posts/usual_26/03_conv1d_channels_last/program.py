import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

ACTIVITIES = ["walk", "sit", "stairs", "run", "lie"]
WINDOW = 128
SENSORS = 9


def simulate_recordings(n, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(WINDOW) / 50.0
    X, y = [], []
    for _ in range(n):
        a = rng.integers(len(ACTIVITIES))
        freq = 0.5 + a * 0.8
        phase = rng.uniform(0, 2 * np.pi, SENSORS)
        sig = np.sin(2 * np.pi * freq * t[:, None] + phase)
        X.append(sig + 0.3 * rng.standard_normal((WINDOW, SENSORS)))
        y.append(a)
    return np.stack(X).astype("float32"), np.array(y)


class ActivityWindows(Dataset):
    def __init__(self, X, y, mean, std):
        self.X = (X - mean) / std
        self.y = y

    def __len__(self):
        return self.X.shape[0]

    def __getitem__(self, i):
        window = torch.from_numpy(self.X[i])
        return window, torch.tensor(self.y[i])


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out, k):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, k, padding=k // 2)
        self.norm = nn.BatchNorm1d(c_out)
        self.act = nn.GELU()
        self.pool = nn.MaxPool1d(2)

    def forward(self, x):
        x = self.conv(x)
        x = self.act(self.norm(x))
        return self.pool(x)


class ActivityCNN(nn.Module):
    def __init__(self, n_sensors, n_classes):
        super().__init__()
        self.block1 = ConvBlock(n_sensors, 32, 7)
        self.block2 = ConvBlock(32, 64, 5)
        self.block3 = ConvBlock(64, 64, 3)
        self.classifier = nn.Sequential(nn.Dropout(0.3), nn.Linear(64, n_classes))

    def forward(self, x):
        x = self.block3(self.block2(self.block1(x)))
        return self.classifier(x.mean(dim=-1))


torch.manual_seed(0)
X_train, y_train = simulate_recordings(320, seed=1)
X_test, y_test = simulate_recordings(80, seed=2)
mean = X_train.mean(axis=(0, 1))
std = X_train.std(axis=(0, 1))

train_dl = DataLoader(ActivityWindows(X_train, y_train, mean, std), batch_size=32, shuffle=True)
test_dl = DataLoader(ActivityWindows(X_test, y_test, mean, std), batch_size=40)

model = ActivityCNN(SENSORS, len(ACTIVITIES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

for epoch in range(4):
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    confusion = torch.zeros(len(ACTIVITIES), len(ACTIVITIES), dtype=torch.long)
    with torch.no_grad():
        for xb, yb in test_dl:
            for truth, guess in zip(yb, model(xb).argmax(1)):
                confusion[truth, guess] += 1
    acc = confusion.diag().sum().item() / confusion.sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc:.3f}")

for name, row in zip(ACTIVITIES, confusion.tolist()):
    print(f"{name:>8}", row)
