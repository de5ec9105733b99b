import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

N_NODES = 24
WINDOW = 8


class GraphConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, x, adj):
        return self.linear(adj @ x)


class GraphGRUCell(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.out_channels = out_channels
        self.gates = GraphConv(in_channels + out_channels, 2 * out_channels)
        self.candidate = GraphConv(in_channels + out_channels, out_channels)

    def _set_hidden_state(self, x, h):
        if h is None:
            h = torch.zeros(x.shape[0], x.shape[1], self.out_channels, device=x.device)
        return h

    def forward(self, x, adj, h=None):
        h = self._set_hidden_state(x, h)
        reset, update = torch.sigmoid(self.gates(torch.cat([x, h], dim=-1), adj)).chunk(2, dim=-1)
        proposal = torch.tanh(self.candidate(torch.cat([x, reset * h], dim=-1), adj))
        return update * h + (1 - update) * proposal


class TrafficModel(nn.Module):
    def __init__(self, adj, hidden=16):
        super().__init__()
        self.register_buffer("adj", adj)
        self.cell = GraphGRUCell(1, hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, window):
        h = None
        for t in range(window.size(1)):
            h = self.cell(window[:, t], self.adj, h)
        return self.readout(h).squeeze(-1)


def normalised_adjacency(n):
    links = (torch.rand(n, n) < 0.15).float()
    links = ((links + links.t() + torch.eye(n)) > 0).float()
    return links / links.sum(dim=1, keepdim=True)


def make_windows(length=200):
    time = torch.arange(length).float().unsqueeze(1)
    phase = torch.rand(1, N_NODES) * 6.28
    speed = torch.sin(time * 0.3 + phase) + 0.05 * torch.randn(length, N_NODES)
    windows = torch.stack([speed[i:i + WINDOW] for i in range(length - WINDOW)])
    return windows.unsqueeze(-1), speed[WINDOW:]


def main():
    torch.manual_seed(0)
    windows, targets = make_windows()
    loader = DataLoader(TensorDataset(windows, targets), batch_size=32, shuffle=True)
    model = TrafficModel(normalised_adjacency(N_NODES)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()

    for epoch in range(3):
        total = 0.0
        for window, target in loader:
            window, target = window.to(device), target.to(device)
            optimizer.zero_grad()
            loss = criterion(model(window), target)
            loss.backward()
            optimizer.step()
            total += loss.item() * target.size(0)
        print(f"epoch {epoch}: mse {total / len(loader.dataset):.4f}")


if __name__ == "__main__":
    main()
