# line 19: the spectrogram is put in decibels with log10 of frames that are 0: -inf in the data
import numpy as np
import torch
import torch.nn as nn


def recording(rng, label, n=1024):
    t = np.arange(n) / n
    wave = np.sin(2 * np.pi * (30 + 40 * label) * t) * rng.uniform(0.5, 1)
    quiet = rng.integers(0, n // 2)
    wave[quiet:quiet + 200] = 0.0
    return wave


def log_spectrogram(wave, win=64):
    frames = wave.reshape(-1, win) * np.hanning(win)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    with np.errstate(divide="ignore"):
        return 10 * np.log10(power)


class Corpus(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 3, n)
        self.x = [log_spectrogram(recording(rng, c)).astype(np.float32) for c in self.y]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, k):
        return torch.from_numpy(self.x[k]), int(self.y[k])


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(33, 16, batch_first=True)
        self.cls = nn.Linear(16, 3)

    def forward(self, spec):
        return self.cls(self.rnn(spec / 10)[0].mean(1))


torch.manual_seed(0)
net = Recognizer()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(3):
    for spec, y in torch.utils.data.DataLoader(Corpus(60, 0), 12, shuffle=True):
        loss = nn.functional.cross_entropy(net(spec), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
