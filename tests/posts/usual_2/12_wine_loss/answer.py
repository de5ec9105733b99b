import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WineNet(nn.Module):
    def __init__(self, n_in=11, n_classes=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.fc2 = nn.Linear(64, 32)
        self.out = nn.Linear(32, n_classes)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = self.drop(x)
        x = torch.relu(self.fc2(x))
        return self.out(x)


def make_data(n=360):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, n)
    x = rng.normal(0, 1, (n, 11)) + y[:, None] * 0.7
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.long)


def fit(model, train_loader, val_loader, loss_function, epochs=5, lr=1e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    history = {"train": [], "val": []}
    for epoch in range(epochs):
        model.train()
        batch_losses = []
        for xb, yb in train_loader:
            optimizer.zero_grad()
            prediction = model(xb)
            loss = loss_function(prediction, yb)
            loss.backward()
            optimizer.step()
            batch_losses.append(loss.item())
        history["train"].append(np.mean(batch_losses))

        model.eval()
        batch_losses = []
        with torch.no_grad():
            for xb, yb in val_loader:
                batch_losses.append(loss_function(model(xb), yb).item())
        history["val"].append(np.mean(batch_losses))
        print(f"{epoch + 1}/{epochs} train {history['train'][-1]:.4f} val {history['val'][-1]:.4f}")
    return history


if __name__ == "__main__":
    torch.manual_seed(0)
    X, y = make_data()
    train_loader = DataLoader(TensorDataset(X[:300], y[:300]), batch_size=30, shuffle=True)
    val_loader = DataLoader(TensorDataset(X[300:], y[300:]), batch_size=60)
    model = WineNet()
    loss_fn = nn.CrossEntropyLoss()
    fit(model, train_loader, val_loader, loss_fn)
