import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(sizes):
    layers = []
    for i, o in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(i, o), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def scatter_max(features, index, n_nodes):
    out = features.new_full((n_nodes, features.size(1)), float("-inf"))
    out = out.scatter_reduce(0, index.unsqueeze(1).expand_as(features), features, reduce="amax")
    return torch.where(torch.isinf(out), torch.zeros_like(out), out)


class PointSetPooling(nn.Module):
    """Gathers the points around every keypoint into one feature vector."""

    def __init__(self, in_features=4, point_mlp=(32, 64, 128), output_mlp=(128, 128)):
        super().__init__()
        self.point_mlp = mlp((in_features,) + point_mlp)
        self.output_mlp = mlp(output_mlp)

    def forward(self, point_features, point_coordinates, keypoint_indices, set_indices):
        """point_features (N, 1) reflectance, point_coordinates (N, 3), keypoint_indices (M, 1),
        set_indices (S, 2) pairs of point and keypoint number"""
        point_set_features = point_features[set_indices[:, 0]]
        point_set_coordinates = point_coordinates[set_indices[:, 0]]

        point_set_keypoint_indices = keypoint_indices[set_indices[:, 1]]
        point_set_keypoint_coordinates = point_coordinates[point_set_keypoint_indices[:, 0]]

        point_set_coordinates = point_set_coordinates - point_set_keypoint_coordinates
        point_set_features = torch.cat([point_set_features, point_set_coordinates], dim=-1)

        extracted = self.point_mlp(point_set_features)
        pooled = scatter_max(extracted, set_indices[:, 1], len(keypoint_indices))
        return self.output_mlp(pooled)


class GraphNetAutoCenter(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.auto_offset = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 3))
        self.edge_mlp = mlp((dim + 3, dim))
        self.update_mlp = mlp((dim, dim))

    def forward(self, vertex_features, vertex_coordinates, edges):
        offset = self.auto_offset(vertex_features)
        source, target = edges[:, 0], edges[:, 1]
        delta = vertex_coordinates[source] - (vertex_coordinates + offset)[target]
        messages = self.edge_mlp(torch.cat([vertex_features[source], delta], dim=-1))
        return self.update_mlp(scatter_max(messages, target, len(vertex_features))) + vertex_features


class PointGNN(nn.Module):
    def __init__(self, num_classes=3, layers=2):
        super().__init__()
        self.pooling = PointSetPooling()
        self.gnn = nn.ModuleList([GraphNetAutoCenter() for _ in range(layers)])
        self.predictor = nn.Linear(128, num_classes)

    def forward(self, cloud):
        x = self.pooling(cloud["features"], cloud["xyz"], cloud["keypoints"], cloud["sets"])
        for layer in self.gnn:
            x = layer(x, cloud["xyz"][cloud["keypoints"][:, 0]], cloud["edges"])
        return self.predictor(x)


def make_cloud(rng, n_objects=12, points=40):
    """Street scene: thin poles, flat boxes and round bushes somewhere in an 80 m square."""
    shapes = {0: (0.1, 0.1, 1.0), 1: (0.9, 0.5, 0.1), 2: (0.4, 0.4, 0.4)}
    xyz, labels = [], rng.integers(0, 3, n_objects)
    for kind in labels:
        centre = np.array([*rng.uniform(-40, 40, 2), rng.uniform(-2, 2)])
        xyz.append(centre + rng.normal(size=(points, 3)) * shapes[int(kind)])
    xyz = torch.tensor(np.concatenate(xyz), dtype=torch.float32)
    features = torch.tensor(rng.uniform(0, 1, (len(xyz), 1)), dtype=torch.float32)
    keypoints = (torch.arange(n_objects) * points).unsqueeze(1)
    keys = xyz[keypoints[:, 0]]
    near = torch.cdist(xyz, keys) < 3.0
    edges = torch.nonzero(torch.cdist(keys, keys) < 15.0)
    return {"features": features, "xyz": xyz, "keypoints": keypoints, "sets": torch.nonzero(near),
            "edges": edges, "labels": torch.tensor(labels)}


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train_set = [make_cloud(rng) for _ in range(80)]
    test_set = [make_cloud(rng) for _ in range(20)]
    model = PointGNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(4):
        model.train()
        total = 0.0
        for i in rng.permutation(len(train_set)):
            loss = F.cross_entropy(model(train_set[i]), train_set[i]["labels"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            hits = torch.cat([model(c).argmax(1) == c["labels"] for c in test_set])
        print("epoch %d  loss %.3f  keypoint accuracy %.3f" % (epoch, total / len(train_set), hits.float().mean()))
