import wave
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

SR = 8000
WORDS = ["yes", "no", "stop"]
ROOT = Path(tempfile.mkdtemp())


def write_clips(root, per_word=40):
    rng = np.random.default_rng(5)
    for k, word in enumerate(WORDS):
        (root / word).mkdir()
        for i in range(per_word):
            t = np.arange(SR // 2) / SR
            f0 = [220, 440, 880][k] * rng.uniform(0.9, 1.1)
            x = 0.4 * np.sin(2 * np.pi * f0 * t) * np.hanning(len(t)) + 0.02 * rng.standard_normal(len(t))
            with wave.open(str(root / word / f"{i:03d}.wav"), "wb") as w:
                w.setnchannels(1)
                w.setsampwidth(2)
                w.setframerate(SR)
                w.writeframes((x.clip(-1, 1) * 32767).astype("<i2").tobytes())


class KeywordDataset(Dataset):
    def __init__(self, root):
        self.files = sorted(root.glob("*/*.wav"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        with wave.open(str(path), "rb") as w:
            raw = w.readframes(w.getnframes())
        audio = np.frombuffer(raw, dtype="<i2").astype(np.float32) / 32768.0
        return torch.from_numpy(audio).unsqueeze(0), WORDS.index(path.parent.name)


class M3(nn.Module):
    """Small version of the M5 network for raw waveforms."""

    def __init__(self, n_input=1, n_output=3, n_channel=32):
        super().__init__()
        self.conv1 = nn.Conv1d(n_input, n_channel, kernel_size=40, stride=8)
        self.bn1 = nn.BatchNorm1d(n_channel)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(n_channel, n_channel, kernel_size=3)
        self.bn2 = nn.BatchNorm1d(n_channel)
        self.pool2 = nn.MaxPool1d(4)
        self.fc1 = nn.Linear(n_channel, n_output)

    def forward(self, x):
        x = self.pool1(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool2(torch.relu(self.bn2(self.conv2(x))))
        x = x.mean(dim=-1)
        return self.fc1(x)


write_clips(ROOT)
torch.manual_seed(5)
full = KeywordDataset(ROOT)
train_set, test_set = random_split(full, [96, 24])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
test_loader = DataLoader(test_set, batch_size=16, shuffle=False)

device = "cuda" if torch.cuda.is_available() else "cpu"
model = M3(n_output=len(WORDS)).to(device)
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.0001)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, 5):
    model.train()
    for batch_idx, (audio, target) in enumerate(train_loader):
        audio, target = audio.to(device), target.to(device)
        output = model(audio)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for audio, target in test_loader:
            output = model(audio.to(device))
            correct += (output.argmax(dim=-1).cpu() == target).sum().item()
    print(f"Test Epoch: {epoch}\tAccuracy: {correct}/{len(test_set)}")
