import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

torch.manual_seed(0)
np.random.seed(0)
SAMPLE_RATE = 4000
N_FFT = 128
COMMANDS = ['yes', 'no', 'stop', 'go']


def synth_clip(label):
    dur = np.random.uniform(0.6, 1.1)
    t = np.arange(int(dur * SAMPLE_RATE)) / SAMPLE_RATE
    f0 = 300 + 250 * label
    wav = np.sin(2 * np.pi * f0 * t) * np.hanning(len(t)) + 0.1 * np.random.randn(len(t))
    return torch.tensor(wav, dtype=torch.float32)


def log_spectrogram(wav):
    spec = torch.stft(wav, N_FFT, hop_length=64, window=torch.hann_window(N_FFT), return_complex=True)
    return torch.log(spec.abs() + 1e-4)


class SpeechCommands(Dataset):
    def __init__(self, n):
        self.labels = np.random.randint(0, len(COMMANDS), n)
        self.wavs = [synth_clip(l) for l in self.labels]

    def __len__(self):
        return len(self.wavs)

    def __getitem__(self, idx):
        return log_spectrogram(self.wavs[idx]), int(self.labels[idx])


class KWSNet(nn.Module):
    def __init__(self, n_freq, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(n_freq, 48, 5, padding=2), nn.BatchNorm1d(48), nn.ReLU(),
            nn.Conv1d(48, 48, 5, padding=2), nn.BatchNorm1d(48), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.fc = nn.Linear(48, n_classes)

    def forward(self, x):
        return self.fc(self.pool(self.conv(x)).squeeze(-1))


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return right / total


dataset = SpeechCommands(200)
train_set, val_set = random_split(dataset, [160, 40])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=16)

model = KWSNet(N_FFT // 2 + 1, len(COMMANDS))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print('epoch', epoch, 'loss', running / len(train_loader), 'val', accuracy(model, val_loader))
