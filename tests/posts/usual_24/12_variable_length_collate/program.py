import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class SpeechCommands(Dataset):
    """Utterances of different lengths as MFCC frames."""

    def __init__(self, n_items=300, n_mfcc=13, n_classes=8, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, n_classes, n_items)
        self.feats = []
        for label in self.labels:
            frames = rng.integers(40, 110)
            x = rng.standard_normal((frames, n_mfcc)).astype(np.float32)
            x[:, label] += 1.0
            self.feats.append(x)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return torch.from_numpy(self.feats[index]), int(self.labels[index])


def collate_fn(batch):
    feats, labels = zip(*batch)
    lengths = torch.tensor([len(f) for f in feats])
    return pad_sequence(feats, batch_first=True), lengths, torch.tensor(labels)


class GRUClassifier(nn.Module):
    def __init__(self, n_mfcc=13, hidden=48, n_classes=8):
        super().__init__()
        self.gru = nn.GRU(n_mfcc, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_classes)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.out(h[-1])


torch.manual_seed(0)
train_set = SpeechCommands(300, seed=0)
valid_set = SpeechCommands(80, seed=1)
train_loader = DataLoader(train_set, batch_size=20, shuffle=True, collate_fn=collate_fn)
valid_loader = DataLoader(valid_set, batch_size=20)

model = GRUClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    model.train()
    for x, lengths, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x, lengths), y)
        loss.backward()
        optimizer.step()

    model.eval()
    correct = 0
    with torch.no_grad():
        for x, lengths, y in valid_loader:
            correct += (model(x, lengths).argmax(dim=-1) == y).sum().item()
    print(f"epoch {epoch}: train loss {loss.item():.3f}, valid acc {correct / len(valid_set):.3f}")
