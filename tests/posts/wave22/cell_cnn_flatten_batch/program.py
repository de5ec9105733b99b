import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(42)

N_CLASSES = 18
SIZE = 24
BATCH = 8


class CellDataset(Dataset):
    def __init__(self, n):
        self.labels = (torch.rand(n, N_CLASSES) < 0.1).float()
        self.images = torch.rand(n, 4, SIZE, SIZE)
        for i in range(n):
            for c in self.labels[i].nonzero().flatten().tolist():
                self.images[i, c % 4, c:c + 3] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class CellNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(8 * 16 * 6 * 6, 64)
        self.fc2 = nn.Linear(64, N_CLASSES)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 8 * 16 * 6 * 6)
        x = F.relu(self.fc1(x))
        return torch.sigmoid(self.fc2(x))


def train_epoch(epoch, model, loader, criterion, optimizer):
    model.train()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(loader):
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 10 == 9:
            print(f"{epoch}, {i + 1}, {running_loss / 10:.5f}")
            running_loss = 0.0


def validate(model, dataset):
    model.eval()
    hits = 0
    with torch.no_grad():
        for inputs, labels in DataLoader(dataset, batch_size=BATCH):
            hits += ((model(inputs) > 0.5) == (labels > 0.5)).sum().item()
    print(f"label accuracy {hits / (len(dataset) * N_CLASSES):.3f}")


if __name__ == "__main__":
    train_set = CellDataset(325)
    loader = DataLoader(train_set, batch_size=BATCH, shuffle=True)
    model = CellNet()
    criterion = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(1, 4):
        train_epoch(epoch, model, loader, criterion, optimizer)
    validate(model, CellDataset(40))
