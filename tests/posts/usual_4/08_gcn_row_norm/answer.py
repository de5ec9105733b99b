import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.random.seed(12)
torch.manual_seed(12)

# ---- citation-like graph: 4 communities, some hubs that cite/are cited a lot
N, C, FEAT = 240, 4, 30
community = np.random.randint(0, C, N)
hubness = np.random.pareto(2.0, N) + 0.5
prob = np.where(community[:, None] == community[None], 0.02, 0.003)
prob = prob * hubness[:, None] * hubness[None]
A = (np.random.rand(N, N) < prob).astype(np.float32)
A = np.triu(A, 1)
A = A + A.T
feats = np.random.randn(N, FEAT).astype(np.float32)
feats[np.arange(N), community] += 1.0

perm = np.random.permutation(N)
idx_train, idx_val, idx_test = map(torch.from_numpy, (perm[:60], perm[60:120], perm[120:]))


def normalize_adj(adj):
    """mean aggregation: D^-1 (A + I)"""
    adj = adj + torch.eye(adj.shape[0])
    deg = adj.sum(dim=1, keepdim=True)
    return adj / deg


class GraphConv(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout=0.5):
        super().__init__()
        self.gc1 = GraphConv(nfeat, nhid)
        self.gc2 = GraphConv(nhid, nclass)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = self.dropout(x)
        return F.log_softmax(self.gc2(x, adj), dim=1)


adj = normalize_adj(torch.from_numpy(A))
features = torch.from_numpy(feats)
labels = torch.from_numpy(community).long()

model = GCN(FEAT, 16, C)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def accuracy(output, idx):
    return (output[idx].argmax(1) == labels[idx]).float().mean().item()


for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()

    if (epoch + 1) % 20 == 0:
        model.eval()
        with torch.no_grad():
            output = model(features, adj)
            loss_val = F.nll_loss(output[idx_val], labels[idx_val])
        print("Epoch: {:04d} loss_train: {:.4f} loss_val: {:.4f} acc_val: {:.4f}".format(
            epoch + 1, loss_train.item(), loss_val.item(), accuracy(output, idx_val)))

model.eval()
with torch.no_grad():
    print("Test accuracy: {:.4f}".format(accuracy(model(features, adj), idx_test)))
