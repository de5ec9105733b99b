"""Engine fault detection from microphone recordings: log power spectrogram + small CNN."""
import numpy as np
import torch
import torch.nn as nn
from scipy import signal
from torch.utils.data import DataLoader, TensorDataset

FS = 4000
CLIP = 4000
np.random.seed(17)
torch.manual_seed(17)


def record(faulty):
    """1 s clip; the recorder gates everything below its threshold to digital zero."""
    t = np.arange(CLIP) / FS
    rpm = np.random.uniform(18, 25)
    x = sum(np.sin(2 * np.pi * rpm * k * t) / k for k in range(1, 6))
    if faulty:
        clicks = np.zeros(CLIP)
        clicks[np.random.randint(0, CLIP, 25)] = 6.0
        x = x + signal.lfilter([1.0], [1.0, -0.7], clicks)
    x = x + 0.1 * np.random.randn(CLIP)
    start = np.random.randint(0, 900)
    x[:start] = 0.0
    return x


def log_spectrogram(x):
    _, _, S = signal.spectrogram(x, fs=FS, nperseg=128, noverlap=64, detrend=False)
    return torch.from_numpy(S).float().log()


def build_set(n):
    labels = np.random.randint(0, 2, n)
    feats = torch.stack([log_spectrogram(record(l == 1)) for l in labels]).unsqueeze(1)
    return feats, torch.from_numpy(labels)


X_train, y_train = build_set(160)
X_test, y_test = build_set(60)
mean, std = X_train.mean(), X_train.std()
X_train = (X_train - mean) / std
X_test = (X_test - mean) / std
print("spectrograms:", tuple(X_train.shape))

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=16, shuffle=True)
test_loader = DataLoader(TensorDataset(X_test, y_test), batch_size=30)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(16, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(1, 7):
    model.train()
    running_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * xb.size(0)

    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_loader:
            correct += (model(xb).argmax(dim=1) == yb).sum().item()
    print("epoch %d  loss %.4f  test acc %.3f" % (epoch, running_loss / len(X_train), correct / len(X_test)))
