import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SparseTensor:
    def __init__(self, feats, coords):
        self.F, self.C = feats, coords


class SparseConv(nn.Module):
    """convolution over the voxels that are there, as a sum over the offsets of the kernel"""

    def __init__(self, in_channels, out_channels, kernel_size=3):
        super().__init__()
        r = torch.arange(kernel_size) - kernel_size // 2
        self.register_buffer('offsets', torch.cartesian_prod(r, r, r))
        self.kernel = nn.Parameter(torch.empty(len(self.offsets), in_channels, out_channels))
        nn.init.kaiming_normal_(self.kernel.view(-1, out_channels))

    @staticmethod
    def hash(coords):
        c = coords + 512
        return ((c[:, 0] * 1024 + c[:, 1]) * 1024 + c[:, 2]) * 1024 + c[:, 3]

    def forward(self, x):
        keys, order = self.hash(x.C).sort()
        out = torch.zeros(len(x.F), self.kernel.shape[2], dtype=self.kernel.dtype, device=self.kernel.device)
        for offset, w in zip(self.offsets, self.kernel):
            shifted = x.C.clone()
            shifted[:, 1:] += offset
            query = self.hash(shifted)
            pos = torch.searchsorted(keys, query).clamp(max=len(keys) - 1)
            rows = (keys[pos] == query).nonzero().squeeze(1)
            if len(rows):
                out = out.index_add(0, rows, x.F[order[pos[rows]]] @ w)
        return SparseTensor(out, x.C)


class SparseBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv, self.bn = SparseConv(cin, cout), nn.BatchNorm1d(cout)

    def forward(self, x):
        x = self.conv(x)
        return SparseTensor(F.relu(self.bn(x.F)), x.C)


class SceneClassifier(nn.Module):
    def __init__(self, in_feat=3, out_feat=6):
        super().__init__()
        self.blocks = nn.Sequential(SparseBlock(in_feat, 16), SparseBlock(16, 32))
        self.linear = nn.Linear(32, out_feat)

    def forward(self, x):
        x = self.blocks(x)
        batch = x.C[:, 0]
        pooled = torch.zeros(int(batch.max()) + 1, x.F.shape[1], device=x.F.device).index_add(0, batch, x.F)
        return self.linear(pooled / batch.bincount().unsqueeze(1))


def load_scene(rng, voxel_size=0.1):
    xyz = rng.normal(size=(400, 3)) * 0.5
    rgb = rng.uniform(0, 255, size=(400, 3))
    coords, index = np.unique(np.floor(xyz / voxel_size).astype(np.int64), axis=0, return_index=True)
    return coords, rgb[index] / 255. - 0.5, rng.integers(6)


def collate(scenes):
    coords = [np.hstack([np.full((len(c), 1), i), c]) for i, (c, _, _) in enumerate(scenes)]
    feats = [f for _, f, _ in scenes]
    labels = [l for _, _, l in scenes]
    return torch.from_numpy(np.vstack(coords)), torch.from_numpy(np.vstack(feats)), torch.as_tensor(labels)


if __name__ == '__main__':
    rng = np.random.default_rng(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    net = SceneClassifier().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-1)
    criterion = nn.CrossEntropyLoss()
    for i in range(5):
        optimizer.zero_grad()
        coords, feats, label = collate([load_scene(rng) for _ in range(4)])
        input = SparseTensor(feats.to(device), coords.to(device))
        loss = criterion(net(input), label.to(device))
        print('Iteration: ', i, ', Loss: ', loss.item())
        loss.backward()
        optimizer.step()
