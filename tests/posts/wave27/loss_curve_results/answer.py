import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"


class TinyVGG(nn.Module):
    def __init__(self, in_channels=3, hidden=10, classes=3):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(in_channels, hidden, 3), nn.ReLU(),
            nn.Conv2d(hidden, hidden, 3), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden, hidden, 3), nn.ReLU(),
            nn.Conv2d(hidden, hidden, 3), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden * 5 * 5, classes))

    def forward(self, x):
        return self.classifier(self.block_2(self.block_1(x)))


def train_step(model, dataloader, loss_fn, optimizer):
    model.train()
    train_loss, train_acc = 0, 0
    for X, y in dataloader:
        X, y = X.to(device), y.to(device)
        y_pred = model(X)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_acc += (y_pred.argmax(dim=1) == y).float().mean().item()
    return train_loss / len(dataloader), train_acc / len(dataloader)


def test_step(model, dataloader, loss_fn):
    model.eval()
    test_loss, test_acc = 0, 0
    with torch.inference_mode():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            logits = model(X)
            test_loss += loss_fn(logits, y).item()
            test_acc += (logits.argmax(dim=1) == y).float().mean().item()
    return test_loss / len(dataloader), test_acc / len(dataloader)


def train(model, train_dl, test_dl, optimizer, loss_fn, epochs):
    results = {"train_loss": [], "train_acc": [], "test_loss": [], "test_acc": []}
    for epoch in range(epochs):
        train_loss, train_acc = train_step(model, train_dl, loss_fn, optimizer)
        test_loss, test_acc = test_step(model, test_dl, loss_fn)
        print(f"{epoch}: train {train_loss:.4f}/{train_acc:.3f} test {test_loss:.4f}/{test_acc:.3f}")
        results["train_loss"].append(train_loss)
        results["train_acc"].append(train_acc)
        results["test_loss"].append(test_loss)
        results["test_acc"].append(test_acc)
    return results


def smooth_curves(results, window=2):
    kernel = np.ones(window) / window
    curves = {}
    for name, values in results.items():
        curve = np.array(values, dtype=np.float64)
        curves[name] = np.convolve(curve, kernel, mode="valid")
    return curves


if __name__ == "__main__":
    torch.manual_seed(42)
    images, labels = torch.rand(96, 3, 32, 32), torch.randint(0, 3, (96,))
    train_dl = DataLoader(TensorDataset(images[:64], labels[:64]), batch_size=16, shuffle=True)
    test_dl = DataLoader(TensorDataset(images[64:], labels[64:]), batch_size=16)

    model_0 = TinyVGG().to(device)
    optimizer = torch.optim.Adam(model_0.parameters(), lr=1e-3)
    model_0_results = train(model_0, train_dl, test_dl, optimizer, nn.CrossEntropyLoss(), epochs=4)

    for name, curve in smooth_curves(model_0_results).items():
        print(name, np.round(curve, 4))
