import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(2)
GENRES = ["folk", "jazz", "rock", "techno"]


class Spectrograms(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.genre = rng.randint(0, len(GENRES), n)
        self.mel = rng.rand(n, 1, 32, 48).astype(np.float32)
        for mel, genre in zip(self.mel, self.genre):
            mel[0, genre * 8:(genre + 1) * 8, ::genre + 2] += 1.0

    def __len__(self):
        return len(self.genre)

    def __getitem__(self, i):
        return torch.from_numpy(self.mel[i]), torch.tensor(self.genre[i])


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


class GenreNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(conv_block(1, 8), conv_block(8, 16), conv_block(16, 16))
        self.dropout = nn.Dropout(0.4)
        self.classify = nn.Linear(16 * 4 * 6, len(GENRES))

    def forward(self, x):
        return self.classify(self.dropout(self.blocks(x).flatten(1)))


train_loader = DataLoader(Spectrograms(64, 0), batch_size=16, shuffle=True)
val_loader = DataLoader(Spectrograms(24, 1), batch_size=12)
model = GenreNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=2e-3)

best_accuracy = 0.0
model.train()
for epoch in range(3):
    running_loss = 0.0
    for mel, genre in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(mel), genre)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for mel, genre in val_loader:
            correct += (model(mel).argmax(1) == genre).sum().item()
    accuracy = correct / len(val_loader.dataset)
    print(f"Epoch {epoch + 1}: loss {running_loss / len(train_loader):.4f}, accuracy {accuracy:.3f}")
    if accuracy > best_accuracy:
        best_accuracy = accuracy
        torch.save(model.state_dict(), "genre.pt")
