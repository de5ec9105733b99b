import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

EMOTIONS = ["neutral", "calm", "happy", "sad", "angry", "fearful", "disgust", "surprised"]


def cepstral_features(wave, sample_rate, n_coeff=40, hop=160, n_fft=512):
    spec = torch.stft(wave, n_fft, hop_length=hop, window=torch.hann_window(n_fft), return_complex=True).abs() ** 2
    bands = torch.nn.functional.interpolate(spec[None], size=spec.shape[1], mode="nearest")[0]
    edges = torch.linspace(0, bands.shape[0], n_coeff + 1).long()
    energy = torch.stack([bands[a:b].mean(0) for a, b in zip(edges[:-1], edges[1:])])
    log_energy = torch.log(energy + 1e-6)
    return (log_energy - log_energy.mean()) / (log_energy.std() + 1e-6)


class SpeechClips(Dataset):
    def __init__(self, n_clips, seconds, sample_rate=16000):
        gen = torch.Generator().manual_seed(3)
        t = torch.arange(int(seconds * sample_rate)) / sample_rate
        self.items = []
        for _ in range(n_clips):
            label = int(torch.randint(0, len(EMOTIONS), (1,), generator=gen))
            pitch = 120 + 30 * label
            wave = torch.sin(2 * torch.pi * pitch * t) + 0.3 * torch.randn(t.shape, generator=gen)
            self.items.append((cepstral_features(wave, sample_rate)[None], label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


def conv_branch():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Dropout(0.3),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(4, 4), nn.Dropout(0.3),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(4, 4), nn.Dropout(0.3),
    )


class EmotionNet(nn.Module):
    """Two convolutional branches next to a transformer over time, joined in one head."""

    def __init__(self, n_classes, n_coeff=40):
        super().__init__()
        self.time_pool = nn.MaxPool2d((1, 4))
        layer = nn.TransformerEncoderLayer(d_model=n_coeff, nhead=4, dim_feedforward=128, dropout=0.4)
        self.transformer = nn.TransformerEncoder(layer, num_layers=2)
        self.branch_a = conv_branch()
        self.branch_b = conv_branch()
        self.head = nn.Linear(64 * 15 * 2 + n_coeff, n_classes)

    def forward(self, x):
        a = torch.flatten(self.branch_a(x), 1)
        b = torch.flatten(self.branch_b(x), 1)
        seq = self.time_pool(x).squeeze(1).permute(2, 0, 1)
        context = self.transformer(seq).mean(dim=0)
        embedding = torch.cat([a, b, context], dim=1)
        return self.head(embedding)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(SpeechClips(32, args.seconds), batch_size=args.batch_size, shuffle=True)
    net = EmotionNet(len(EMOTIONS))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.8, weight_decay=1e-3)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        net.train()
        total, correct = 0.0, 0
        for feats, target in loader:
            optimizer.zero_grad()
            logits = net(feats)
            loss = criterion(logits, target)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(target)
            correct += (logits.argmax(1) == target).sum().item()
        print(f"epoch {epoch}: loss {total / len(loader.dataset):.3f} acc {correct / len(loader.dataset):.2f}")


if __name__ == "__main__":
    main()
