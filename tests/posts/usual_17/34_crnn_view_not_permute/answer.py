import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)
DIGITS = 5
LEN = 4


class CaptchaDataset(Dataset):
    """Images 1x16x64 with four 'digits' (bars at different heights) side by side."""

    def __init__(self, n):
        self.labels = np.random.randint(0, DIGITS, (n, LEN))
        self.images = np.random.rand(n, 1, 16, 64).astype(np.float32) * 0.4
        for i in range(n):
            for j in range(LEN):
                r = 1 + 3 * self.labels[i, j]
                self.images[i, 0, r:r + 3, j * 16 + 3:j * 16 + 13] += 1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return torch.from_numpy(self.images[i]), torch.from_numpy(self.labels[i])


class CRNN(nn.Module):
    def __init__(self, n_classes, hidden=48):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.rnn = nn.GRU(32 * 4, hidden, batch_first=True, bidirectional=True)
        self.pool = nn.AdaptiveAvgPool1d(LEN)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, x):
        f = self.cnn(x)
        b, c, h, w = f.shape
        # one time step per column of the feature map
        seq = f.permute(0, 3, 1, 2).reshape(b, w, c * h)
        out, _ = self.rnn(seq)
        out = self.pool(out.transpose(1, 2)).transpose(1, 2)
        return self.fc(out)


def evaluate(model, loader):
    model.eval()
    char_ok = word_ok = n = 0
    with torch.no_grad():
        for img, lab in loader:
            pred = model(img).argmax(-1)
            char_ok += (pred == lab).sum().item()
            word_ok += (pred == lab).all(dim=1).sum().item()
            n += len(lab)
    return char_ok / (n * LEN), word_ok / n


train_loader = DataLoader(CaptchaDataset(600), batch_size=40, shuffle=True)
test_loader = DataLoader(CaptchaDataset(120), batch_size=40)

model = CRNN(DIGITS)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    total = 0.0
    for img, lab in train_loader:
        logits = model(img)
        loss = criterion(logits.reshape(-1, DIGITS), lab.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    char_acc, word_acc = evaluate(model, test_loader)
    print('Epoch %d loss %.4f char acc %.3f word acc %.3f' % (epoch, total / len(train_loader), char_acc, word_acc))
