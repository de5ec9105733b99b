# line 19: the hand-written stochastic depth drops residual branches with torch.bernoulli in evaluation as well
import torch
from torch import nn


def drop_path(branch, survival):
    keep = torch.bernoulli(torch.full((branch.shape[0], 1), survival, device=branch.device))
    return branch * keep / survival


class ResidualMLPBlock(nn.Module):
    def __init__(self, width, survival):
        super().__init__()
        self.survival = survival
        self.body = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))

    def forward(self, x):
        branch = self.body(x)
        return x + (drop_path(branch, self.survival) if self.training else branch)


class TabularNet(nn.Sequential):
    def __init__(self, columns, width=32, depth=4):
        rates = torch.linspace(1.0, 0.7, depth).tolist()
        blocks = [ResidualMLPBlock(width, r) for r in rates]
        super().__init__(nn.Linear(columns, width), *blocks, nn.LayerNorm(width), nn.Linear(width, 1))


def run(seed=0):
    torch.manual_seed(seed)
    table = torch.randn(600, 9)
    price = table[:, :1] * table[:, 1:2] + table[:, 2:3].abs()
    train = torch.utils.data.TensorDataset(table[:480], price[:480])
    loader = torch.utils.data.DataLoader(train, batch_size=40, shuffle=True)
    net = TabularNet(9)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(5):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            test = nn.functional.mse_loss(net(table[480:]), price[480:])
        print(f"epoch {epoch} test mse {test.item():.4f}")


if __name__ == "__main__":
    run()
