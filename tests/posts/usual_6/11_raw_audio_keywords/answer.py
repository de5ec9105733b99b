# Keyword spotting on raw waveforms, M5-like network (https://arxiv.org/abs/1610.00087)
import os
import tempfile
import wave

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SR = 4000
WORDS = ["yes", "no", "stop"]


def write_recordings(root, per_word=24):
    rng = np.random.default_rng(11)
    for k, word in enumerate(WORDS):
        os.makedirs(os.path.join(root, word))
        for i in range(per_word):
            t = np.arange(SR) / SR
            f0 = (300, 600, 1000)[k] * rng.uniform(0.95, 1.05)
            sig = np.sin(2 * np.pi * f0 * t) * np.exp(-3 * t) + 0.05 * rng.standard_normal(SR)
            pcm = (sig / np.abs(sig).max() * 32000).astype("<i2")
            with wave.open(os.path.join(root, word, f"{i:03d}.wav"), "wb") as w:
                w.setnchannels(1)
                w.setsampwidth(2)
                w.setframerate(SR)
                w.writeframes(pcm.tobytes())


def load_wav(path):
    with wave.open(path, "rb") as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2")
    return torch.from_numpy(pcm.astype(np.float32) / 32768.0)


class KeywordDataset(Dataset):
    def __init__(self, root):
        self.items = []
        for label, word in enumerate(WORDS):
            folder = os.path.join(root, word)
            for fn in sorted(os.listdir(folder)):
                self.items.append((os.path.join(folder, fn), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, label = self.items[i]
        return load_wav(path).unsqueeze(0), label


class M5(nn.Module):
    def __init__(self, n_input=1, n_output=3, stride=4, n_channel=16):
        super().__init__()
        self.conv1 = nn.Conv1d(n_input, n_channel, kernel_size=40, stride=stride)
        self.bn1 = nn.BatchNorm1d(n_channel)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(n_channel, 2 * n_channel, kernel_size=3)
        self.bn2 = nn.BatchNorm1d(2 * n_channel)
        self.pool2 = nn.MaxPool1d(4)
        self.fc1 = nn.Linear(2 * n_channel, n_output)

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.bn2(self.conv2(x))))
        x = F.avg_pool1d(x, x.shape[-1]).squeeze(-1)
        return F.log_softmax(self.fc1(x), dim=1)


if __name__ == "__main__":
    torch.manual_seed(0)
    root = tempfile.mkdtemp()
    write_recordings(root)
    full = KeywordDataset(root)
    train_set, test_set = torch.utils.data.random_split(full, [60, 12], torch.Generator().manual_seed(1))
    train_loader = DataLoader(train_set, batch_size=12, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=12)

    model = M5()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)
    for epoch in range(1, 6):
        model.train()
        for data, target in train_loader:
            loss = F.nll_loss(model(data), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            correct = sum((model(d).argmax(1) == t).sum().item() for d, t in test_loader)
        print(f"Epoch {epoch}: loss {loss.item():.4f}, accuracy {correct}/{len(test_set)}")
