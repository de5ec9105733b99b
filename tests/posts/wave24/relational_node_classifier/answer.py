import torch
import torch.nn as nn
import torch.nn.functional as F

RELATIONS = ["cites", "same_author", "same_venue"]


class RelationalNet(nn.Module):
    """Node classifier that aggregates the neighbours of each relation separately."""

    def __init__(self, numfeatures, numrel, numclasses):
        super().__init__()
        self.waggrs = nn.ParameterDict()
        self.list_relations = nn.ModuleDict()
        for rel in RELATIONS:
            self.waggrs[rel] = nn.Parameter(1.0 + 0.1 * torch.randn(1, numrel))
            self.list_relations[rel] = nn.Linear(numfeatures, numrel)
        self.norm = nn.LayerNorm(numrel * len(RELATIONS))
        self.classifier = nn.Linear(numrel * len(RELATIONS), numclasses)

    def forward(self, features, adjacency):
        parts = []
        for rel in RELATIONS:
            message = torch.tanh(self.list_relations[rel](features))
            parts.append(self.waggrs[rel] * (adjacency[rel] @ message))
        hidden = self.norm(torch.cat(parts, dim=1))
        return self.classifier(F.relu(hidden))


def random_graph(labels, same, other, generator):
    n = labels.size(0)
    prob = torch.where(labels[:, None] == labels[None, :], same, other)
    edges = (torch.rand(n, n, generator=generator) < prob).float()
    edges.fill_diagonal_(1.0)
    return edges / edges.sum(dim=1, keepdim=True)


def make_data(n=600, numfeatures=20, numclasses=4, seed=0):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, numclasses, (n,), generator=g)
    centers = 0.5 * torch.randn(numclasses, numfeatures, generator=g)
    features = centers[labels] + torch.randn(n, numfeatures, generator=g)
    adjacency = {
        "cites": random_graph(labels, 0.02, 0.006, g),
        "same_author": random_graph(labels, 0.015, 0.008, g),
        "same_venue": random_graph(labels, 0.015, 0.015, g),
    }
    train_mask = torch.rand(n, generator=g) < 0.6
    return features, labels, adjacency, train_mask


def main():
    torch.manual_seed(0)
    features, labels, adjacency, train_mask = make_data()
    model = RelationalNet(features.size(1), numrel=16, numclasses=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    print("trainable values:", sum(p.numel() for p in model.parameters()))

    for epoch in range(1, 61):
        model.train()
        optimizer.zero_grad()
        logits = model(features, adjacency)
        loss = F.cross_entropy(logits[train_mask], labels[train_mask])
        loss.backward()
        optimizer.step()

        if epoch % 15 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(features, adjacency).argmax(dim=1)
            hit = (pred == labels).float()
            print(
                f"epoch {epoch:3d} loss {loss.item():.4f} "
                f"train acc {hit[train_mask].mean():.3f} test acc {hit[~train_mask].mean():.3f}"
            )


if __name__ == "__main__":
    main()
