import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class SpokenDigits(Dataset):
    """Synthetic tones standing in for recordings at 8 kHz."""

    def __init__(self, n_clips=200, sample_rate=8000, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.clips = []
        for _ in range(n_clips):
            label = int(torch.randint(0, 4, (1,), generator=g))
            length = int(torch.randint(1500, 4000, (1,), generator=g))
            t = torch.arange(length) / sample_rate
            wave = torch.sin(2 * torch.pi * (300 + 250 * label) * t)
            wave = wave + 0.1 * torch.randn(length, generator=g)
            self.clips.append((wave, label))

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, idx):
        wave, label = self.clips[idx]
        return wave, label


class AudioNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, kernel_size=64, stride=8),
            nn.ReLU(),
            nn.Conv1d(16, 32, kernel_size=8, stride=4),
            nn.ReLU(),
            nn.AdaptiveMaxPool1d(1),
        )
        self.classifier = nn.Linear(32, n_classes)

    def forward(self, wave):
        x = self.features(wave.unsqueeze(1))
        return self.classifier(x.squeeze(-1))


def train(model, loader, epochs=3, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        correct = seen = 0
        for waves, labels in loader:
            logits = model(waves)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(dim=1) == labels).sum().item()
            seen += labels.numel()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, accuracy {correct / seen:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    dataset = SpokenDigits()
    loader = DataLoader(dataset, batch_size=20, shuffle=True)
    train(AudioNet(), loader)
