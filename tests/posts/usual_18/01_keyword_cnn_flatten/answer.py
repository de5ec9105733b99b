# Course project: recognise 6 spoken commands from log-mel pictures
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader, random_split

WORDS = ["up", "down", "left", "right", "stop", "go"]
N_MELS, N_FRAMES = 40, 61


class Commands(Dataset):
    def __init__(self, n=240, seed=3):
        rng = np.random.default_rng(seed)
        self.items = []
        for i in range(n):
            label = int(rng.integers(len(WORDS)))
            mel = rng.normal(size=(N_MELS, N_FRAMES)).astype("float32")
            mel[label * 6:label * 6 + 5, 10:40] += 2.0
            self.items.append((mel, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        mel, label = self.items[idx]
        mel = (mel - mel.mean()) / (mel.std() + 1e-6)
        return torch.from_numpy(mel).unsqueeze(0), label


class CommandNet(nn.Module):
    def __init__(self, n_words):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, kernel_size=5)
        self.bn1 = nn.BatchNorm2d(12)
        self.conv2 = nn.Conv2d(12, 24, kernel_size=3)
        self.bn2 = nn.BatchNorm2d(24)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(24 * 8 * 13, 64)
        self.fc2 = nn.Linear(64, n_words)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = torch.flatten(x, 1)
        x = self.drop(F.relu(self.fc1(x)))
        return self.fc2(x)


def accuracy(net, loader):
    net.eval()
    hits = total = 0
    with torch.no_grad():
        for mel, label in loader:
            hits += (net(mel).argmax(1) == label).sum().item()
            total += label.numel()
    return hits / total


if __name__ == "__main__":
    torch.manual_seed(0)
    full = Commands()
    train_set, test_set = random_split(full, [200, 40])
    train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=20)

    net = CommandNet(len(WORDS))
    print(sum(p.numel() for p in net.parameters()), "parameters")
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)

    for epoch in range(3):
        net.train()
        running = 0.0
        for mel, label in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(mel), label)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(train_loader):.3f} test acc {accuracy(net, test_loader):.2f}")
