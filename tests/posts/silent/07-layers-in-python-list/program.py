import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class DeepNet(nn.Module):
    def __init__(self, in_dim, hidden_dims, out_dim):
        super().__init__()
        self.input = nn.Linear(in_dim, hidden_dims[0])
        self.hidden = []
        for d_in, d_out in zip(hidden_dims[:-1], hidden_dims[1:]):
            self.hidden.append(nn.Linear(d_in, d_out))
        self.output = nn.Linear(hidden_dims[-1], out_dim)

    def forward(self, x):
        x = F.leaky_relu(self.input(x))
        for layer in self.hidden:
            x = F.leaky_relu(layer(x))
        return self.output(x)


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
        self.criterion = nn.L1Loss()

    def fit(self, loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            total = 0.0
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(f"epoch {epoch + 1}/{epochs} mae {total / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.rand(512, 6) * 2 - 1
    y = torch.stack([x.pow(2).sum(1), torch.sin(3 * x[:, 0])], dim=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = DeepNet(6, [32, 64, 64, 32], 2)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    Trainer(model).fit(loader, epochs=6)
