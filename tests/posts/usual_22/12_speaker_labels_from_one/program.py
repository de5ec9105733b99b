import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SpeakerDataset(Dataset):
    """Log-mel clips of different speakers."""

    def __init__(self, num_speakers, clips_per_speaker, n_mels=40, frames=80):
        self.items = []
        for speaker_id in range(1, num_speakers + 1):
            voice = torch.randn(n_mels, 1)
            for _ in range(clips_per_speaker):
                self.items.append((voice + 0.5 * torch.randn(n_mels, frames), speaker_id))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        mel, speaker_id = self.items[idx]
        return mel, speaker_id


class SpeakerNet(nn.Module):
    def __init__(self, n_mels, num_speakers):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(n_mels, 64, kernel_size=5, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.Conv1d(64, 64, kernel_size=3, padding=1),
            nn.BatchNorm1d(64),
            nn.ReLU(),
        )
        self.classifier = nn.Linear(64, num_speakers)

    def forward(self, mel):
        h = self.encoder(mel)
        return self.classifier(h.mean(dim=-1))


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-speakers", type=int, default=10)
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(0)
    dataset = SpeakerDataset(args.num_speakers, args.clips)
    loader = DataLoader(dataset, batch_size=60, shuffle=True)
    model = SpeakerNet(40, args.num_speakers)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        for mel, target in loader:
            logits = model(mel)
            loss = criterion(logits, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}/{args.epochs} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
