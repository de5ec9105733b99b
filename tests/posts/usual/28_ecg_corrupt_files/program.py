import os
import tempfile
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
rng = np.random.default_rng(0)
root = tempfile.mkdtemp()
SAMPLES = 500

# 2-lead recordings, 3 rhythms
for i in range(80):
    length = SAMPLES if i % 11 else 320
    np.save(os.path.join(root, f"rec_{i:03d}_{i % 3}.npy"), rng.normal(size=(2, length)).astype(np.float32))


class ECGDataset(Dataset):
    def __init__(self, folder):
        self.files = sorted(os.path.join(folder, f) for f in os.listdir(folder))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        path = self.files[idx]
        try:
            signal = np.load(path)
            signal = signal.reshape(2, SAMPLES)
        except ValueError:
            return None
        label = int(os.path.basename(path).split("_")[2].split(".")[0])
        signal = (signal - signal.mean(axis=1, keepdims=True)) / signal.std(axis=1, keepdims=True)
        return torch.from_numpy(signal), label


class ECGNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(2, 16, 7, stride=2, padding=3),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Conv1d(16, 32, 7, stride=2, padding=3),
            nn.BatchNorm1d(32),
            nn.ReLU(),
        )
        self.lstm = nn.LSTM(32, 32, batch_first=True)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = self.conv(x).transpose(1, 2)
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


dataset = ECGDataset(root)
loader = DataLoader(dataset, batch_size=16, shuffle=True)

model = ECGNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    seen, correct = 0, 0
    for signal, label in loader:
        logits = model(signal)
        loss = criterion(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += len(label)
        correct += (logits.argmax(1) == label).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {correct / seen:.3f}")
