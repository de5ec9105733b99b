import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TASKS = ["yield", "purity", "viscosity"]


def make_reactor_data(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 10)).astype(np.float32)
    y = np.stack([
        2 * X[:, 0] - X[:, 1] * X[:, 2],
        np.sin(2 * X[:, 3]) + X[:, 4],
        np.abs(X[:, 5]) - 0.5 * X[:, 6],
    ], axis=1).astype(np.float32)
    return torch.from_numpy(X), torch.from_numpy(y)


class Expert(nn.Module):
    def __init__(self, d_in, d_out, hidden=48):
        super().__init__()
        self.fc1 = nn.Linear(d_in, hidden)
        self.fc2 = nn.Linear(hidden, d_out)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Gate(nn.Module):
    def __init__(self, d_in, n_experts):
        super().__init__()
        self.lin = nn.Linear(d_in, n_experts)

    def forward(self, x):
        return self.lin(x).softmax(dim=-1)


class MultiGateMoE(nn.Module):
    """Shared experts, one gate and one tower for every task."""

    def __init__(self, d_in, n_experts=4, d_expert=16, tasks=TASKS):
        super().__init__()
        self.experts = nn.ModuleList([Expert(d_in, d_expert) for _ in range(n_experts)])
        self.gates = nn.ModuleDict({t: Gate(d_in, n_experts) for t in tasks})
        self.towers = nn.ModuleDict({t: nn.Linear(d_expert, 1) for t in tasks})

    def forward(self, x):
        shared = torch.stack([expert(x) for expert in self.experts], dim=1)
        outs = []
        for task, gate in self.gates.items():
            mix = (gate(x).unsqueeze(-1) * shared).sum(dim=1)
            outs.append(self.towers[task](mix))
        return torch.cat(outs, dim=1)


def evaluate(model, loader):
    model.eval()
    se, n = torch.zeros(len(TASKS)), 0
    with torch.no_grad():
        for xb, yb in loader:
            se += ((model(xb) - yb) ** 2).sum(dim=0)
            n += len(xb)
    return {t: round(v, 4) for t, v in zip(TASKS, (se / n).tolist())}


def main():
    torch.manual_seed(40)
    train_dl = DataLoader(TensorDataset(*make_reactor_data(1500, 0)), batch_size=64, shuffle=True)
    test_dl = DataLoader(TensorDataset(*make_reactor_data(400, 1)), batch_size=200)

    model = MultiGateMoE(d_in=10)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.MSELoss()
    print("trainable parameters:", sum(p.numel() for p in model.parameters() if p.requires_grad))

    for epoch in range(15):
        model.train()
        total = 0.0
        for xb, yb in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(xb)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: train mse {total / 1500:.4f}  test {evaluate(model, test_dl)}")


if __name__ == "__main__":
    main()
