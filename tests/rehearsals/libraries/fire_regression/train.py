"""A regression whose settings are flags of a function, by fire."""

import fire
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(epochs=20, batch_size=32, width=16, lr=1e-3, save=None):
    x = torch.randn(509, 5)
    y = x @ torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])[:, None] + 0.5
    loader = DataLoader(TensorDataset(x, y), batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for inputs, targets in loader:
            loss = nn.functional.mse_loss(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(inputs)
        print(f"epoch {epoch}: {total / len(x):.4f}")
    if save is not None:
        torch.save(model.state_dict(), save)
    return "done"


if __name__ == "__main__":
    fire.Fire(train)
