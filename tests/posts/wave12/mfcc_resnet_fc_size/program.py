import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SAMPLE_RATE = 16000
CLIP_SECONDS = 4
WIN = 1024
HOP = 512
N_COEF = 24


def cepstrum(wave):
    n_frames = 1 + len(wave) // HOP
    padded = np.pad(wave, WIN // 2, mode='reflect')
    frames = np.stack([padded[i * HOP:i * HOP + WIN] for i in range(n_frames)])
    power = np.abs(np.fft.rfft(frames * np.hanning(WIN), axis=1)) ** 2
    bands = np.stack([b.sum(axis=1) for b in np.array_split(power, 40, axis=1)])
    logb = np.log(bands + 1e-8)
    k = np.arange(N_COEF)[:, None]
    n = np.arange(40)[None, :]
    dct = np.cos(np.pi * k * (2 * n + 1) / 80.0)
    return dct @ logb


def features(wave):
    c = cepstrum(wave)
    d1 = np.gradient(c, axis=1)
    d2 = np.gradient(d1, axis=1)
    feat = np.concatenate([c, d1, d2], axis=0)
    return (feat - feat.mean()) / (feat.std() + 1e-6)


class SpeechClips(Dataset):
    def __init__(self, n_clips, seed=0):
        rng = np.random.RandomState(seed)
        self.labels = rng.randint(0, 2, n_clips)
        t = np.arange(SAMPLE_RATE * CLIP_SECONDS) / SAMPLE_RATE
        self.feats = []
        for y in self.labels:
            f0 = 120 + 80 * y + 10 * rng.randn()
            wave = np.sin(2 * np.pi * f0 * t) + 0.3 * rng.randn(len(t))
            self.feats.append(features(wave).astype(np.float32))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return torch.from_numpy(self.feats[idx]), int(self.labels[idx])


class ResBlock(nn.Module):
    def __init__(self, channels):
        super(ResBlock, self).__init__()
        self.bn0 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(0.5)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.pool = nn.MaxPool2d(3, stride=3, padding=1)

    def forward(self, x):
        h = F.leaky_relu(self.bn0(x), 0.01)
        h = F.leaky_relu(self.bn1(self.conv1(h)), 0.01)
        h = self.conv2(self.drop(h))
        return self.pool(h + x)


class SpoofNet(nn.Module):
    def __init__(self):
        super(SpoofNet, self).__init__()
        self.stem = nn.Conv2d(1, 32, 3, padding=1)
        self.blocks = nn.Sequential(*[ResBlock(32) for _ in range(6)])
        self.bn = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.5)
        self.fc1 = nn.Linear(480, 128)
        self.fc2 = nn.Linear(128, 2)

    def forward(self, x):
        x = self.stem(x.unsqueeze(1))
        x = self.blocks(x)
        x = F.leaky_relu(self.bn(x), 0.01)
        x = x.view(x.size(0), -1)
        x = F.leaky_relu(self.fc1(self.drop(x)), 0.01)
        return F.log_softmax(self.fc2(x), dim=1)


def main():
    torch.manual_seed(0)
    loader = DataLoader(SpeechClips(64), batch_size=32, shuffle=True)
    model = SpoofNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.NLLLoss(weight=torch.tensor([1.0, 9.0]))
    for epoch in range(2):
        model.train()
        total = 0.0
        for feat, label in loader:
            optimizer.zero_grad()
            loss = criterion(model(feat), label)
            loss.backward()
            optimizer.step()
            total += loss.item() * feat.size(0)
        print('epoch %d loss %.4f' % (epoch, total / len(loader.dataset)))


if __name__ == '__main__':
    main()
