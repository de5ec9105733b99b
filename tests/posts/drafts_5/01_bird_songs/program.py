import torch
import torch.nn as nn
import numpy as np
from torch.utils.data import Dataset, DataLoader, random_split

SPECIES = ["chiffchaff", "blackbird", "wren", "great_tit"]
SAMPLE_RATE = 8000
CLIP_SECONDS = 1
N_FFT = 256
HOP = 128


class BirdSongDataset(Dataset):
    """One second clips, each species sings around its own pitch."""

    PITCH = [900, 1500, 2200, 3000]

    def __init__(self, n_clips, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = torch.tensor(rng.integers(0, len(SPECIES), n_clips), dtype=torch.int)
        self.waves = []
        t = np.arange(SAMPLE_RATE * CLIP_SECONDS) / SAMPLE_RATE
        for label in self.labels:
            pitch = self.PITCH[label] * rng.uniform(0.85, 1.15)
            trill = 1 + 0.05 * np.sin(2 * np.pi * rng.uniform(5, 12) * t)
            wave = np.sin(2 * np.pi * pitch * trill * t) + 0.4 * rng.standard_normal(len(t))
            self.waves.append(torch.tensor(wave, dtype=torch.float32))
        self.window = torch.hann_window(N_FFT)

    def __len__(self):
        return len(self.waves)

    def spectrogram(self, wave):
        spec = torch.stft(wave, N_FFT, HOP, window=self.window, return_complex=True)
        return torch.log1p(spec.abs() ** 2)

    def __getitem__(self, idx):
        return self.spectrogram(self.waves[idx]), self.labels[idx]


class SongCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d((8, 1)),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(32 * 8, 64),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(64, n_classes),
            nn.Softmax(dim=1),
        )

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total_loss, hits, seen = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for spec, label in loader:
            out = model(spec)
            loss = criterion(out, label)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total_loss += loss.item() * len(label)
            hits += (out.argmax(1) == label).sum().item()
            seen += len(label)
    return total_loss / seen, hits / seen


if __name__ == "__main__":
    torch.manual_seed(21)
    dataset = BirdSongDataset(240)
    train_set, val_set = random_split(dataset, [200, 40])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=16)

    model = SongCNN(len(SPECIES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(4):
        tr_loss, tr_acc = run_epoch(model, train_loader, criterion, optimizer)
        va_loss, va_acc = run_epoch(model, val_loader, criterion)
        print(f"{epoch}: train {tr_loss:.3f} / {tr_acc:.2f}   val {va_loss:.3f} / {va_acc:.2f}")
