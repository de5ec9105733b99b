import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

COMMANDS = ["yes", "no", "up", "down", "left", "right", "stop", "go"]


class SpeechCommands(Dataset):
    """Log-mel spectrograms of one second of speech."""

    def __init__(self, n, seed=0):
        g = torch.Generator().manual_seed(0)
        templates = torch.randn(len(COMMANDS), 1, 40, 50, generator=g)
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(COMMANDS), (n,), generator=g)
        self.specs = 0.3 * templates[self.labels] + torch.randn(n, 1, 40, 50, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.specs[idx], self.labels[idx]


class KeywordNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(32 * 10 * 12, num_classes)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for spec, label in loader:
            correct += (model(spec).argmax(dim=1) == label).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(SpeechCommands(320, seed=1), batch_size=32, shuffle=True)
    test_loader = DataLoader(SpeechCommands(80, seed=2), batch_size=32)
    model = KeywordNet(len(COMMANDS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(8):
        model.train()
        epoch_loss = 0.0
        for spec, label in train_loader:
            optimizer.zero_grad()
            out = model(spec)
            loss = criterion(out, label)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch}: loss {epoch_loss / len(train_loader):.3f} test acc {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
