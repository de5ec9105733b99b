import torch
from torch import nn
import torch.nn.functional as F


class MessagePassing(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.msg = nn.Linear(in_dim, out_dim)
        self.own = nn.Linear(in_dim, out_dim)

    def forward(self, x, edge_index):
        src, dst = edge_index
        messages = self.msg(x[src])
        agg = torch.zeros(x.size(0), messages.size(1))
        agg[dst] += messages
        degree = torch.bincount(dst, minlength=x.size(0)).clamp(min=1).unsqueeze(1)
        return self.own(x) + agg / degree


class GNN(nn.Module):
    def __init__(self, in_dim, classes, hidden=32):
        super().__init__()
        self.layer1 = MessagePassing(in_dim, hidden)
        self.layer2 = MessagePassing(hidden, classes)

    def forward(self, x, edge_index):
        h = F.relu(self.layer1(x, edge_index))
        h = F.dropout(h, 0.3, training=self.training)
        return self.layer2(h, edge_index)


torch.manual_seed(0)
n = 600
community = torch.randint(0, 4, (n,))
same = community[:, None] == community[None, :]
adjacency = torch.rand(n, n) < torch.where(same, 0.06, 0.01)
adjacency = (adjacency | adjacency.T).fill_diagonal_(False)
edge_index = adjacency.nonzero().T
x = F.one_hot(community, 4).float() + 1.5 * torch.randn(n, 4)
train_mask = torch.rand(n) < 0.3

model = GNN(4, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(1, 101):
    model.train()
    logits = model(x, edge_index)
    loss = F.cross_entropy(logits[train_mask], community[train_mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        model.eval()
        with torch.no_grad():
            pred = model(x, edge_index).argmax(dim=1)
        acc = (pred == community)[~train_mask].float().mean().item()
        print(f"epoch {epoch}: test accuracy {acc:.3f}")
