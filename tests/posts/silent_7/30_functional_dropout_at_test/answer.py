import torch
import torch.nn as nn
import torch.nn.functional as F


def citation_graph(nodes=600, classes=5, words=80, seed=0):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, classes, (nodes,), generator=g)
    same = (label[:, None] == label[None, :]).float()
    prob = 0.012 * same + 0.002 * (1 - same)
    upper = torch.triu((torch.rand(nodes, nodes, generator=g) < prob).float(), diagonal=1)
    adjacency = upper + upper.T
    topics = (torch.rand(classes, words, generator=g) < 0.15).float()
    features = (torch.rand(nodes, words, generator=g) < 0.05 + 0.08 * topics[label]).float()
    return features, adjacency, label


def normalise(adjacency):
    a = adjacency + torch.eye(len(adjacency))
    d = a.sum(dim=1).rsqrt()
    return d[:, None] * a * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x, a_hat):
        return a_hat @ self.linear(x)


class GCN(nn.Module):
    def __init__(self, n_in, hidden, classes, rate=0.5):
        super().__init__()
        self.rate = rate
        self.conv1 = GraphConv(n_in, hidden)
        self.conv2 = GraphConv(hidden, classes)

    def forward(self, x, a_hat):
        h = F.relu(self.conv1(x, a_hat))
        h = F.dropout(h, p=self.rate, training=self.training)
        return self.conv2(h, a_hat)


torch.manual_seed(0)
features, adjacency, label = citation_graph()
a_hat = normalise(adjacency)
order = torch.randperm(len(label))
train_idx, val_idx, test_idx = order[:100], order[100:250], order[250:]

model = GCN(features.shape[1], hidden=16, classes=5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


@torch.no_grad()
def score(idx):
    model.eval()
    pred = model(features, a_hat).argmax(dim=1)
    return (pred[idx] == label[idx]).float().mean().item()


for epoch in range(1, 101):
    model.train()
    loss = F.cross_entropy(model(features, a_hat)[train_idx], label[train_idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.3f}  train {score(train_idx):.3f}  val {score(val_idx):.3f}")

print("test accuracy, five times:", [round(score(test_idx), 4) for _ in range(5)])
