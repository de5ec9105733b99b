import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, in_features, hidden, classes):
        super().__init__()
        self.fc1 = nn.Linear(in_features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


def get_loaders(batch_size):
    digits = load_digits()
    X = (digits.data / 16.0).astype(np.float32)
    y = digits.target.astype(np.int64)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    train = TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train))
    test = TensorDataset(torch.from_numpy(X_test), torch.from_numpy(y_test))
    return DataLoader(train, batch_size=batch_size, shuffle=True), DataLoader(test, batch_size=256)


def train(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for inputs, labels in loader:
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * inputs.size(0)
    return total / len(loader.dataset)


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, labels in loader:
            correct += (model(inputs).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader, test_loader = get_loaders(32)
    model = MLP(64, 64, 10)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(8):
        loss = train(model, train_loader, criterion, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f} test acc {test(model, test_loader):.3f}")
