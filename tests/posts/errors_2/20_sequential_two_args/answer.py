import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)

NODES, FEATS, CLASSES = 12, 5, 2

adj = (torch.rand(300, NODES, NODES) > 0.7).float()
adj = ((adj + adj.transpose(1, 2)) > 0).float() + torch.eye(NODES)
adj = adj.clamp(max=1) / adj.clamp(max=1).sum(-1, keepdim=True)
feats = torch.randn(300, NODES, FEATS)
labels = ((adj @ feats).mean((1, 2)) > 0).long()


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)

    def forward(self, x, adj):
        return torch.relu(self.lin(adj @ x))


class GCN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.convs = nn.ModuleList([
            GraphConv(FEATS, hidden),
            GraphConv(hidden, hidden),
        ])
        self.readout = nn.Linear(hidden, CLASSES)

    def forward(self, x, adj):
        h = x
        for conv in self.convs:
            h = conv(h, adj)
        return self.readout(h.mean(dim=1))


loader = DataLoader(TensorDataset(feats, adj, labels), batch_size=30, shuffle=True)
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    right = 0
    for x, a, y in loader:
        optimizer.zero_grad()
        out = model(x, a)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch} train acc {right / len(labels):.3f}")
