import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import Dataset, DataLoader

SAMPLE_RATE = 8000
N_FFT = 256
HOP = 128


class SpokenDigits(Dataset):
    """waveforms of 0.5 to 1 second, label = digit"""

    def __init__(self, n=64):
        self.waves = []
        for _ in range(n):
            length = int(torch.randint(SAMPLE_RATE // 2, SAMPLE_RATE, (1,)))
            self.waves.append(torch.randn(length) * 0.1)
        self.labels = torch.randint(0, 10, (n,))
        self.window = torch.hann_window(N_FFT)

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, i):
        stft = torch.stft(self.waves[i], N_FFT, HOP, window=self.window, return_complex=True)
        spec = torch.log(stft.abs() ** 2 + 1e-6)
        spec = (spec - spec.mean()) / spec.std()
        return spec.T, self.labels[i]


def collate(batch):
    specs, labels = zip(*batch)
    lengths = torch.tensor([s.shape[0] for s in specs])
    padded = pad_sequence(specs, batch_first=True)
    return padded, lengths, torch.stack(labels)


class DigitGRU(nn.Module):
    def __init__(self, n_bins=N_FFT // 2 + 1, hidden=64, n_classes=10):
        super().__init__()
        self.proj = nn.Sequential(nn.Linear(n_bins, 64), nn.ReLU())
        self.gru = nn.GRU(64, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, x, lengths):
        x = self.proj(x)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.fc(torch.cat([h[0], h[1]], dim=1))


torch.manual_seed(0)
loader = DataLoader(SpokenDigits(), batch_size=16, shuffle=True, collate_fn=collate)
model = DigitGRU()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(2):
    running, correct = 0.0, 0
    for x, lengths, y in loader:
        optimizer.zero_grad()
        out = model(x, lengths)
        loss = criterion(out, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += loss.item()
        correct += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {running / len(loader):.3f} acc {correct / len(loader.dataset):.3f}")
