import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(8)

GESTURES = ["left", "right", "up", "down"]
FRAMES, SIZE = 8, 32


class GestureClips(Dataset):
    """A bright block that moves through the clip."""

    moves = [(-2, 0), (2, 0), (0, -2), (0, 2)]

    def __init__(self, n):
        self.labels = torch.randint(0, len(GESTURES), (n,))
        self.clips = 0.1 * torch.rand(n, FRAMES, 3, SIZE, SIZE)
        for clip, label in zip(self.clips, self.labels):
            dx, dy = self.moves[label]
            for t in range(FRAMES):
                x, y = 12 + dx * (t - 4), 12 + dy * (t - 4)
                clip[t, :, max(y, 0):y + 8, max(x, 0):x + 8] += 0.9

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.clips[idx], self.labels[idx]


class C3D(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv3d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool3d((1, 2, 2)))
        self.block2 = nn.Sequential(nn.Conv3d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2))
        self.block3 = nn.Sequential(nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2))
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(32 * 4 * 4, num_classes)

    def forward(self, x):
        x = self.block1(x)
        x = self.block2(x)
        x = self.block3(x)
        x = torch.flatten(x, start_dim=1)
        return self.fc(self.dropout(x))


class Runner:
    def __init__(self, model, lr):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.loss_fn = nn.CrossEntropyLoss()
        self.optim = torch.optim.Adam(self.model.parameters(), lr=lr)

    def train(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for clips, labels in loader:
                clips, labels = clips.to(self.device), labels.to(self.device)
                self.optim.zero_grad()
                loss = self.loss_fn(self.model(clips), labels)
                loss.backward()
                self.optim.step()
                total += loss.item()
            print(f"epoch {epoch + 1}: {total / len(loader):.3f}")

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        good = 0
        for clips, labels in loader:
            pred = self.model(clips.to(self.device)).argmax(dim=1).cpu()
            good += (pred == labels).sum().item()
        return good / len(loader.dataset)


runner = Runner(C3D(len(GESTURES)), lr=3e-3)
runner.train(DataLoader(GestureClips(120), batch_size=12, shuffle=True), epochs=3)
print("test accuracy:", runner.test(DataLoader(GestureClips(40), batch_size=20)))
