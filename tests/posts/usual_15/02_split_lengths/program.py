import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import Dataset, DataLoader, random_split

torch.manual_seed(42)
device = "cuda" if torch.cuda.is_available() else "cpu"


class LeafDataset(Dataset):
    """Shape descriptors of leaves from the botany project, 5 species."""

    def __init__(self, n=1157):
        g = torch.Generator().manual_seed(3)
        self.labels = torch.randint(0, 5, (n,), generator=g)
        centers = torch.randn(5, 12, generator=g) * 1.5
        self.features = centers[self.labels] + torch.randn(n, 12, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.features[i], self.labels[i]


dataset = LeafDataset()
print("samples:", len(dataset))

train_size = int(0.7 * len(dataset))
val_size = int(0.15 * len(dataset))
test_size = int(0.15 * len(dataset))

train_set, val_set, test_set = random_split(dataset, [train_size, val_size, test_size])

train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=64)
test_loader = DataLoader(test_set, batch_size=64)


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 64)
        self.fc2 = nn.Linear(64, 32)
        self.out = nn.Linear(32, 5)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.out(x)


model = LeafNet().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=1e-3)


def accuracy(loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


for epoch in range(10):
    model.train()
    running = 0.0
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * x.size(0)
    print(f"epoch {epoch + 1:2d}  loss {running / len(train_set):.3f}  val acc {accuracy(val_loader):.3f}")

print("test accuracy:", round(accuracy(test_loader), 3))
