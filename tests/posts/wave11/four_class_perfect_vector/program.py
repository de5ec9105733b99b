import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)

NUM_CLASSES = 4


def make_data(n):
    angle = np.random.rand(n) * 2 * np.pi
    radius = np.random.rand(n) * 3
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    y = (np.floor(radius * 4 / 3 + angle / np.pi) % NUM_CLASSES).astype(np.int64)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class Classifier(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, NUM_CLASSES),
        )
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = self.layers(x)
        return self.softmax(x)


criterion = nn.CrossEntropyLoss()

perfect = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
print("loss of a perfect answer:", criterion(perfect, torch.tensor([3])).item())

x_train, y_train = make_data(2000)
x_test, y_test = make_data(500)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=64)

model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

for epoch in range(15):
    model.train()
    train_loss = 0.0
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * inputs.size(0)

    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, labels in test_loader:
            predicted = model(inputs).argmax(dim=1)
            correct += (predicted == labels).sum().item()
    print("epoch %2d  loss %.4f  accuracy %.3f" % (
        epoch + 1, train_loss / len(x_train), correct / len(x_test)))
