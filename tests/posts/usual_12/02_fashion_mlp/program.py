"""Exercise 2: a multi-layer perceptron for clothes (FashionMNIST format)."""
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

device = "cuda" if torch.cuda.is_available() else "cpu"


class FakeFashion(Dataset):
    """Same interface as torchvision.datasets.FashionMNIST with transform=ToTensor()."""

    classes = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat",
               "Sandal", "Shirt", "Sneaker", "Bag", "Boot"]

    def __init__(self, train=True):
        g = torch.Generator().manual_seed(0 if train else 1)
        self.n = 1280 if train else 320
        self.targets = torch.randint(0, 10, (self.n,), generator=g)
        noise = torch.rand(self.n, 1, 28, 28, generator=g) * 0.4
        for i, t in enumerate(self.targets):
            noise[i, 0, 2 * t:2 * t + 6, 6:22] += 0.5
        self.data = noise.clamp(0, 1)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.data[i], self.targets[i]


train_dataloader = DataLoader(FakeFashion(True), batch_size=64, shuffle=True)
test_dataloader = DataLoader(FakeFashion(False), batch_size=64)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 256),
            nn.ReLU(),
            nn.Linear(256, 128),
            nn.ReLU(),
            nn.Linear(128, 10),
        )

    def forward(self, x):
        logits = self.linear_relu_stack(x)
        return logits


model = NeuralNetwork().to(device)
print(model)

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)


def train(dataloader, model, loss_fn, optimizer):
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)

        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

        if batch % 10 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * len(X):>5d}/{len(dataloader.dataset)}]")


def test(dataloader, model, loss_fn):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).sum().item()
    print(f"Accuracy: {100 * correct / len(dataloader.dataset):.1f}%, "
          f"avg loss: {test_loss / len(dataloader):.4f}")


for t in range(3):
    print(f"Epoch {t + 1}\n-------------------------------")
    train(train_dataloader, model, loss_fn, optimizer)
    test(test_dataloader, model, loss_fn)
