import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter
from torch.utils.data import DataLoader, TensorDataset

NUM_LABELS = 10


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super(GraphConvolution, self).__init__()
        self.weight = Parameter(torch.empty(in_features, out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.matmul(adj, torch.matmul(x, self.weight))


class AdaptiveGraph(nn.Module):
    """Label graph inferred from the label embeddings."""

    def __init__(self, emb_dim, key_dim):
        super(AdaptiveGraph, self).__init__()
        self.w_theta = nn.Linear(emb_dim, key_dim, bias=False)
        self.w_phi = nn.Linear(emb_dim, key_dim, bias=False)

    def forward(self, emb):
        sim = self.w_theta(emb) @ self.w_phi(emb).t()
        return torch.softmax(sim, dim=1)


def normalize_graph(A):
    A = A + torch.eye(A.size(0))
    D = torch.pow(A.sum(1), -0.5)
    D = torch.diag(D)
    return D @ A @ D


class LabelGraphNet(nn.Module):
    def __init__(self, emb, feat_dim=64, hidden=48):
        super(LabelGraphNet, self).__init__()
        self.register_buffer('emb', emb)
        self.cnn = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, feat_dim, 3, stride=2, padding=1), nn.BatchNorm2d(feat_dim), nn.ReLU(),
            nn.AdaptiveMaxPool2d(1),
        )
        self.graph = AdaptiveGraph(emb.size(1), 16)
        self.gc1 = GraphConvolution(emb.size(1), hidden)
        self.gc2 = GraphConvolution(hidden, feat_dim)
        self.act = nn.LeakyReLU(0.2)

    def forward(self, image):
        feature = self.cnn(image).flatten(1)
        A = self.graph(self.emb)
        adj = normalize_graph(A)
        x = self.act(self.gc1(self.emb, adj))
        x = self.gc2(x, adj)
        return feature @ x.t(), A


def make_data(n):
    rng = np.random.RandomState(3)
    y = (rng.rand(n, NUM_LABELS) < 0.25).astype('float32')
    y[:, 1] = y[:, 0]
    x = rng.randn(n, 3, 16, 16).astype('float32') * 0.3
    for c in range(NUM_LABELS):
        x[:, c % 3, c, :] += y[:, c:c + 1]
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


torch.manual_seed(3)
emb = torch.randn(NUM_LABELS, 25)
net = LabelGraphNet(emb)
loader = DataLoader(make_data(192), batch_size=32, shuffle=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
theta_start = net.graph.w_theta.weight.detach().clone()

for epoch in range(4):
    net.train()
    total = 0
    for image, label in loader:
        out, A = net(image)
        loss = F.multilabel_soft_margin_loss(out, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    moved = (net.graph.w_theta.weight - theta_start).abs().mean().item()
    print('epoch %d loss %.4f graph moved %.6f' % (epoch, total / len(loader), moved))

print('adjacency row 0:', [round(v, 3) for v in A[0].tolist()])
