# line 48: np.mean of the counts of hits of the batches is printed as the accuracy
import numpy as np
import torch
from torch import nn


class NodeMLP(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.a = nn.Linear(2 * features, 32)
        self.b = nn.Linear(32, classes)

    def forward(self, own, neighbours):
        return self.b(torch.relu(self.a(torch.cat([own, neighbours], dim=1))))


rng = np.random.RandomState(2)
n = 300
group = rng.randint(0, 3, n)
x = torch.tensor(np.eye(3)[group] + rng.randn(n, 3), dtype=torch.float32)
same = group[:, None] == group[None, :]
adjacency = rng.rand(n, n) < np.where(same, 0.06, 0.01)
adjacency = torch.tensor(adjacency | adjacency.T, dtype=torch.float32)
around = adjacency @ x / adjacency.sum(1, keepdim=True).clamp(min=1)
y = torch.tensor(group)
train_nodes, test_nodes = torch.arange(200), torch.arange(200, n)

torch.manual_seed(2)
net = NodeMLP(3, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)


def predict(nodes):
    return net(x[nodes], around[nodes])


for epoch in range(5):
    net.train()
    for nodes in train_nodes[torch.randperm(200)].split(25):
        opt.zero_grad()
        nn.functional.cross_entropy(predict(nodes), y[nodes]).backward()
        opt.step()
    net.eval()
    hits = []
    with torch.no_grad():
        for nodes in test_nodes.split(25):
            hits.append(np.count_nonzero((predict(nodes).argmax(1) == y[nodes]).numpy()))
    print("epoch", epoch, "accuracy", np.sum(hits) / len(test_nodes))
