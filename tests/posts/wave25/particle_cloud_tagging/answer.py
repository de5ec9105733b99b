"""Jet tagging on particle clouds with edge convolutions."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def knn(x, k):
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    xx = torch.sum(x ** 2, dim=1, keepdim=True)
    pairwise_distance = -xx - inner - xx.transpose(2, 1)
    return pairwise_distance.topk(k=k + 1, dim=-1)[1][:, :, 1:]


def get_graph_feature(x, idx):
    batch_size, num_dims, num_points = x.size()
    k = idx.size(2)
    index = idx.reshape(batch_size, 1, num_points * k).expand(-1, num_dims, -1)
    neighbours = x.gather(2, index).view(batch_size, num_dims, num_points, k)
    center = x.unsqueeze(-1).expand(-1, -1, -1, k)
    return torch.cat((center, neighbours - center), dim=1)


class EdgeConvBlock(nn.Module):
    def __init__(self, k, in_feat, out_feats):
        super().__init__()
        self.k = k
        dims = [2 * in_feat] + list(out_feats)
        self.convs = nn.ModuleList(
            nn.Conv2d(dims[i], dims[i + 1], kernel_size=1, bias=False) for i in range(len(out_feats)))
        self.bns = nn.ModuleList(nn.BatchNorm2d(f) for f in out_feats)
        self.sc = nn.Conv1d(in_feat, out_feats[-1], kernel_size=1, bias=False)
        self.sc_bn = nn.BatchNorm1d(out_feats[-1])

    def forward(self, points, features):
        x = get_graph_feature(features, knn(points, self.k))
        for conv, bn in zip(self.convs, self.bns):
            x = F.relu(bn(conv(x)))
        fts = x.mean(dim=-1)
        return F.relu(self.sc_bn(self.sc(features)) + fts)


class ParticleNet(nn.Module):
    def __init__(self, input_dims, num_classes, k=7, conv_params=((16, 16), (32, 32))):
        super().__init__()
        self.bn_fts = nn.BatchNorm1d(input_dims)
        blocks, in_feat = [], input_dims
        for out_feats in conv_params:
            blocks.append(EdgeConvBlock(k, in_feat, out_feats))
            in_feat = out_feats[-1]
        self.edge_convs = nn.ModuleList(blocks)
        self.fc = nn.Sequential(nn.Linear(in_feat, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, num_classes))

    def forward(self, points, features, mask):
        coord_shift = (mask == 0).float() * 1e5
        counts = mask.sum(dim=-1).clamp(min=1)
        fts = self.bn_fts(features) * mask
        for i, conv in enumerate(self.edge_convs):
            pts = (points if i == 0 else fts) + coord_shift
            fts = conv(pts, fts)
            fts = fts * mask
        x = fts.sum(dim=-1) / counts
        return self.fc(x)


def make_jets(n=256, n_part=24):
    label = torch.randint(0, 2, (n,))
    points = torch.randn(n, 2, n_part) * (0.2 + 0.3 * label.view(-1, 1, 1))
    features = torch.cat((points, torch.rand(n, 3, n_part)), dim=1)
    n_real = torch.randint(10, n_part + 1, (n, 1))
    mask = (torch.arange(n_part).unsqueeze(0) < n_real).float().unsqueeze(1)
    return TensorDataset(points * mask, features * mask, mask, label)


def train(model, loader, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        correct = total = 0
        for points, features, mask, label in loader:
            points, features = points.to(device), features.to(device)
            mask, label = mask.to(device), label.to(device)
            logits = model(points, features, mask)
            loss = criterion(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(1) == label).sum().item()
            total += label.size(0)
        print(f"epoch {epoch}: acc {correct / total:.3f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    train(ParticleNet(5, 2).to(device), DataLoader(make_jets(), batch_size=32, shuffle=True))
