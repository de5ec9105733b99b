"""Keyword spotting on MFCC features with a 1D CNN."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SpeechCommands(Dataset):
    """MFCC clips with a keyword id."""

    def __init__(self, n_clips, n_frames=98, n_mfcc=40, n_words=8, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, n_words, (n_clips,), generator=g)
        self.mfcc = torch.randn(n_clips, n_frames, n_mfcc, generator=g)
        for i, w in enumerate(self.words):
            self.mfcc[i, :, w * 4 : w * 4 + 4] += 0.5

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.mfcc[i], self.words[i]


class KeywordCNN(nn.Module):
    def __init__(self, n_mfcc=40, n_words=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(n_mfcc, 64, kernel_size=5, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(64, 128, kernel_size=3, padding=1),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.classifier = nn.Linear(128, n_words)

    def forward(self, x):
        x = self.features(x.transpose(1, 2))
        return self.classifier(x.squeeze(-1))


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum, hits, n = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for mfcc, words in loader:
            logits = model(mfcc)
            loss = criterion(logits, words)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(words)
            hits += (logits.argmax(-1) == words).sum().item()
            n += len(words)
    return loss_sum / n, hits / n


torch.manual_seed(0)
train_loader = DataLoader(SpeechCommands(256), batch_size=32, shuffle=True)
valid_loader = DataLoader(SpeechCommands(64, seed=1), batch_size=32)

model = KeywordCNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(3):
    train_loss, train_acc = run_epoch(model, train_loader, criterion, optimizer)
    valid_loss, valid_acc = run_epoch(model, valid_loader, criterion)
    print(f"{epoch} train {train_loss:.3f} {train_acc:.2f} | valid {valid_loss:.3f} {valid_acc:.2f}")
