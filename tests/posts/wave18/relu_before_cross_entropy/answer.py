import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = 'cuda' if torch.cuda.is_available() else 'cpu'


def fake_fashion(n, seed):
    protos = torch.rand(10, 1, 28, 28, generator=torch.Generator().manual_seed(7))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=g)
    x = (protos[y] * 0.4 + torch.rand(n, 1, 28, 28, generator=g) * 0.6).clamp(0, 1)
    return TensorDataset(x, y)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 256),
            nn.ReLU(),
            nn.Linear(256, 256),
            nn.ReLU(),
            nn.Linear(256, 10),
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch % 20 == 0:
            print(f'loss: {loss.item():>7f}  [{batch * len(X):>5d}/{size:>5d}]')


def test(dataloader, model, loss_fn):
    size, num_batches = len(dataloader.dataset), len(dataloader)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    print(f'Accuracy: {100 * correct / size:>0.1f}%, Avg loss: {test_loss / num_batches:>8f}')


def main():
    torch.manual_seed(2)
    train_dataloader = DataLoader(fake_fashion(4000, 0), batch_size=64, shuffle=True)
    test_dataloader = DataLoader(fake_fashion(1000, 1), batch_size=64)
    model = NeuralNetwork().to(device)
    print(model)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for t in range(5):
        print(f'Epoch {t + 1}')
        train(train_dataloader, model, loss_fn, optimizer)
        test(test_dataloader, model, loss_fn)


if __name__ == '__main__':
    main()
