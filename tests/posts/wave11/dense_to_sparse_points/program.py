import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class HandwrittenStrokes(Dataset):
    """small images that are empty but for one stroke"""

    def __init__(self, n=96, size=24, classes=3):
        g = torch.Generator().manual_seed(0)
        self.labels = torch.randint(0, classes, (n,), generator=g)
        self.images = torch.zeros(n, 3, size, size)
        for i, label in enumerate(self.labels.tolist()):
            start = int(torch.randint(2, 6, (1,), generator=g))
            for t in range(14):
                y, x = [(start, start + t), (start + t, start), (start + t, start + t)][label]
                self.images[i, :, y, x] = 0.2 + torch.rand(3, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class SparseTensor:
    def __init__(self, features, locations, spatial_size, batch_size):
        self.features = features
        self.locations = locations
        self.spatial_size = spatial_size
        self.batch_size = batch_size


class DenseToSparse(nn.Module):
    """keeps the sites of a dense tensor that are not zero"""

    def __init__(self, dimension):
        super().__init__()
        self.dimension = dimension

    def forward(self, input):
        dims = [0] + list(range(2, 2 + self.dimension)) + [1]
        a = input.permute(*dims)
        active = a.abs().sum(dim=-1) > 0
        locations = active.nonzero()
        aa = a.view(-1, input.size(1))
        features = aa[active.reshape(-1)]
        return SparseTensor(features, locations, input.shape[2:], input.size(0))


class NetworkInNetwork(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, input):
        features = F.relu(self.linear(input.features))
        return SparseTensor(features, input.locations, input.spatial_size, input.batch_size)


class SparseToDense(nn.Module):
    def __init__(self, n_planes):
        super().__init__()
        self.n_planes = n_planes

    def forward(self, input):
        h, w = input.spatial_size
        out = input.features.new_zeros(input.batch_size, h, w, self.n_planes)
        b, y, x = input.locations.unbind(1)
        out = out.index_put((b, y, x), input.features)
        return out.permute(0, 3, 1, 2)


class Model(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.sparse = nn.Sequential(
            DenseToSparse(2), NetworkInNetwork(3, 16), NetworkInNetwork(16, 16), SparseToDense(16))
        self.dense = nn.Sequential(
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.linear = nn.Linear(32, classes)

    def forward(self, x):
        x = x.contiguous()
        return self.linear(self.dense(self.sparse(x)))


torch.manual_seed(0)
loader = DataLoader(HandwrittenStrokes(), batch_size=16, shuffle=True)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    correct = total = 0
    for images, labels in loader:
        scores = model(images)
        loss = F.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (scores.argmax(1) == labels).sum().item()
        total += len(labels)
    print('epoch', epoch, 'loss', round(loss.item(), 4), 'accuracy', correct / total)
