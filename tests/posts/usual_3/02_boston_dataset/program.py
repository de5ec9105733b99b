import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class HousePriceDataset(Dataset):
    def __init__(self, X, y, scale=True):
        if scale:
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        self.X = torch.from_numpy(X)
        self.y = torch.from_numpy(y)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


class MLP(nn.Module):
    """Multilayer perceptron for regression."""

    def __init__(self, n_inputs=13):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_inputs, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(42)
np.random.seed(42)

X = np.random.rand(506, 13) * 100
y = X[:, :3].sum(axis=1) * 0.1 + np.random.normal(0, 1, 506)

dataset = HousePriceDataset(X, y)
trainloader = DataLoader(dataset, batch_size=32, shuffle=True)

mlp = MLP()
loss_function = nn.L1Loss()
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)

for epoch in range(5):
    print(f"Starting epoch {epoch + 1}")
    current_loss = 0.0

    for i, data in enumerate(trainloader):
        inputs, targets = data
        targets = targets.reshape((targets.shape[0], 1))

        optimizer.zero_grad()
        outputs = mlp(inputs)
        loss = loss_function(outputs, targets)
        loss.backward()
        optimizer.step()

        current_loss += loss.item()
        if i % 10 == 9:
            print("Loss after mini-batch %5d: %.3f" % (i + 1, current_loss / 10))
            current_loss = 0.0

print("Training process has finished.")
