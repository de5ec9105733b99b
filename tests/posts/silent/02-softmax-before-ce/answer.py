import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class DigitLike(Dataset):
    """28x28 grey images with a bright column that depends on the class."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 10, (n,), generator=g)
        self.images = torch.rand(n, 1, 28, 28, generator=g) * 0.3
        for i, lab in enumerate(self.labels):
            self.images[i, :, :, 2 * lab + 3] += 0.7

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(16 * 7 * 7, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = torch.relu(self.fc1(x))
        return self.fc2(x)


def main():
    torch.manual_seed(1)
    train_dl = DataLoader(DigitLike(512, 0), batch_size=64, shuffle=True)
    test_dl = DataLoader(DigitLike(128, 1), batch_size=64)
    net = Net()
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(4):
        net.train()
        for images, labels in train_dl:
            opt.zero_grad()
            outputs = net(images)
            loss = criterion(outputs, labels)
            loss.backward()
            opt.step()
        net.eval()
        hits = 0
        with torch.no_grad():
            for images, labels in test_dl:
                _, pred = torch.max(net(images), 1)
                hits += (pred == labels).sum().item()
        print(f"[{epoch + 1}] loss={loss.item():.3f} test acc={hits / 128:.3f}")


if __name__ == "__main__":
    main()
