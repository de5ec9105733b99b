import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"


def make_split(n, seed):
    centers = torch.randn(10, 28 * 28, generator=torch.Generator().manual_seed(7))
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (n,), generator=g)
    images = 0.25 * centers[labels] + torch.randn(n, 28 * 28, generator=g)
    return TensorDataset(images.view(n, 1, 28, 28), labels)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


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

        if batch % 10 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * len(X):>5d}/{size:>5d}]")


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
    test_loss /= size
    correct /= size
    print(f"Test: {num_batches} batches, accuracy {100 * correct:>0.1f}%, avg loss {test_loss:>8f}\n")
    return test_loss


def main():
    torch.manual_seed(0)
    train_dataloader = DataLoader(make_split(1920, 1), batch_size=64, shuffle=True)
    test_dataloader = DataLoader(make_split(640, 2), batch_size=64)

    model = NeuralNetwork().to(device)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    best = float("inf")
    for t in range(3):
        print(f"Epoch {t + 1}")
        train(train_dataloader, model, loss_fn, optimizer)
        best = min(best, test(test_dataloader, model, loss_fn))
    print(f"best test loss {best:.6f}")


if __name__ == "__main__":
    main()
