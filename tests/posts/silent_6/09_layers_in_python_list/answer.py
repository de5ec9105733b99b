import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parity_like(n, generator):
    """Regression target with interactions between the inputs."""
    x = torch.rand(n, 6, generator=generator) * 2 - 1
    y = (
        3 * x[:, 0] * x[:, 1]
        + 2 * torch.sin(4 * x[:, 2])
        - 2 * x[:, 3] * x[:, 4] * x[:, 5]
    )
    return x, y.unsqueeze(1)


class ResidualMLP(nn.Module):
    def __init__(self, n_in, width, depth):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for layer in self.hidden:
            h = h + torch.relu(layer(h))
        return self.out(h)


def train(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    return loss.item()


@torch.no_grad()
def test(model, x, y):
    model.eval()
    return nn.functional.mse_loss(model(x), y).item()


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def main():
    g = torch.Generator().manual_seed(9)
    x, y = parity_like(1500, g)
    x_test, y_test = parity_like(500, g)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    print(f"variance of the target {y_test.var().item():.3f}")
    for depth in (1, 2, 3):
        torch.manual_seed(0)
        model = ResidualMLP(6, 24, depth)
        last = train(model, loader, epochs=15)
        print(
            f"depth {depth}: {count_parameters(model)} parameters, "
            f"last batch {last:.3f}, test mse {test(model, x_test, y_test):.3f}"
        )


if __name__ == "__main__":
    main()
