import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Garments(Dataset):
    """Grey pictures of clothes: each kind is a box of its own width."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.kinds = torch.randint(0, 10, (n,), generator=g)
        self.pictures = torch.rand(n, 1, 28, 28, generator=g) * 0.3
        for picture, kind in zip(self.pictures, self.kinds):
            picture[0, 4:24, 13 - kind:15 + kind] += 0.7

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return self.pictures[i], self.kinds[i]


device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
print(f"Using {device} device")


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        x = self.flatten(x)
        return self.linear_relu_stack(x)


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 5 == 0:
            loss, current = loss.item(), (batch + 1) * len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")


def test(dataloader, model, loss_fn):
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
        correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= num_batches
    correct /= size
    print(f"Test Error: \n Accuracy: {(100 * correct):>0.1f}%, Avg loss: {test_loss:>8f} \n")


torch.manual_seed(0)
train_dataloader = DataLoader(Garments(160, 0), batch_size=16, shuffle=True)
test_dataloader = DataLoader(Garments(60, 1), batch_size=16)
model = NeuralNetwork().to(device)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
for t in range(3):
    print(f"Epoch {t + 1}\n-------------------------------")
    train(train_dataloader, model, loss_fn, optimizer)
    test(test_dataloader, model, loss_fn)
print("Done!")
