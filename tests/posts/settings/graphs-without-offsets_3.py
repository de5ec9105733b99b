# line 20: the faces of all meshes are concatenated with vertex numbers that begin at 0 in each mesh
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)


def random_mesh(stretched):
    ring = rng.integers(6, 12)
    angle = np.linspace(0, 2 * np.pi, ring, endpoint=False)
    rim = np.stack([np.cos(angle) * (2.0 if stretched else 1.0), np.sin(angle), np.zeros(ring)], 1)
    vertices = np.vstack([rim, [[0, 0, 1.0]]]) + 0.05 * rng.normal(size=(ring + 1, 3))
    faces = np.stack([np.arange(ring), (np.arange(ring) + 1) % ring, np.full(ring, ring)], 1)
    return vertices.astype(np.float32), faces


def batch_meshes(meshes):
    vertices = np.concatenate([v for v, _ in meshes])
    faces = np.concatenate([f for _, f in meshes])
    owner = np.repeat(np.arange(len(meshes)), [len(f) for _, f in meshes])
    return torch.from_numpy(vertices), torch.from_numpy(faces), torch.from_numpy(owner)


class FaceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.per_face = nn.Sequential(nn.Linear(9, 32), nn.ReLU())
        self.classify = nn.Linear(32, 2)

    def forward(self, vertices, faces, owner, meshes):
        h = self.per_face(vertices[faces].flatten(1))
        pooled = h.new_zeros(meshes, h.size(1)).index_add_(0, owner, h)
        size = torch.bincount(owner, minlength=meshes).unsqueeze(1)
        return self.classify(pooled / size)


torch.manual_seed(3)
kinds = rng.integers(0, 2, 240)
meshes = [random_mesh(k) for k in kinds]
labels = torch.from_numpy(kinds)
net = FaceNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    right = 0
    for rows in torch.randperm(240).split(24):
        logits = net(*batch_meshes([meshes[i] for i in rows.tolist()]), len(rows))
        opt.zero_grad()
        nn.functional.cross_entropy(logits, labels[rows]).backward()
        opt.step()
        right += (logits.argmax(1) == labels[rows]).sum().item()
    print("epoch", epoch, "training accuracy", right / 240)
