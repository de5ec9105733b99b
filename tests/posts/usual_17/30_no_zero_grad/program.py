import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(1)
np.random.seed(1)


class DigitDataset(Dataset):
    def __init__(self, images, labels):
        self.images = images
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.tensor(self.images[i] / 16.0, dtype=torch.float32)
        return x.flatten(), torch.tensor(self.labels[i])


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(64, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(x)


def train_loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        pred = model(X)
        loss = loss_fn(pred, y)

        loss.backward()
        optimizer.step()

        if batch % 10 == 0:
            current = batch * len(X)
            print(f'loss: {loss.item():>7f}  [{current:>5d}/{size:>5d}]')


def test_loop(dataloader, model, loss_fn):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= len(dataloader)
    correct /= len(dataloader.dataset)
    print(f'Test: accuracy {100 * correct:>0.1f}%, avg loss {test_loss:>8f}')
    return correct


digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.images, digits.target, test_size=0.25, random_state=0)
train_dataloader = DataLoader(DigitDataset(X_train, y_train), batch_size=64, shuffle=True)
test_dataloader = DataLoader(DigitDataset(X_test, y_test), batch_size=64)

model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

best = 0
for t in range(15):
    print(f'Epoch {t + 1}')
    train_loop(train_dataloader, model, loss_fn, optimizer)
    best = max(best, test_loop(test_dataloader, model, loss_fn))
print('Best accuracy', best)
