import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

N_MFCC = 40
N_FRAMES = 100
COMMANDS = ["yes", "no", "up", "down", "left", "right", "stop", "go"]


class SpeechCommands(Dataset):
    """Precomputed MFCC features, one (time, n_mfcc) matrix per clip."""

    def __init__(self, size=160):
        self.features = torch.randn(size, N_FRAMES, N_MFCC)
        self.labels = torch.randint(0, len(COMMANDS), (size,))

    def __len__(self):
        return len(self.features)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]


class AudioCNN(nn.Module):
    def __init__(self, n_mfcc, n_classes):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mfcc, 64, kernel_size=5, padding=2)
        self.bn1 = nn.BatchNorm1d(64)
        self.conv2 = nn.Conv1d(64, 64, kernel_size=5, padding=2)
        self.bn2 = nn.BatchNorm1d(64)
        self.fc = nn.Linear(64, n_classes)

    def forward(self, x):
        x = x.transpose(1, 2)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool1d(x, 2)
        x = F.relu(self.bn2(self.conv2(x)))
        x = x.mean(dim=-1)
        return self.fc(x)


def train():
    loader = DataLoader(SpeechCommands(), batch_size=16, shuffle=True)
    model = AudioCNN(N_MFCC, len(COMMANDS))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        epoch_loss = 0.0
        for mfcc, label in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(mfcc), label)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch} loss {epoch_loss / len(loader):.4f}")


if __name__ == "__main__":
    train()
