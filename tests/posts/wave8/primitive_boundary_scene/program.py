import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CONFIG = {'num_channels': 64, 'classes': 10, 'batch_size': 2, 'num_points': 1024}


class MeshScenes(Dataset):
    """points of a mesh with normals, the class of each vertex and the edges between neighbours"""

    def __init__(self, n, num_points, classes):
        self.n, self.num_points, self.classes = n, num_points, classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        points = torch.rand(self.num_points, 6, generator=g)
        semantic = torch.randint(0, self.classes, (self.num_points,), generator=g)
        edges = torch.randint(0, self.num_points, (2048, 2), generator=g)
        return points, semantic, edges


class BoundaryNet(nn.Module):
    def __init__(self, in_channels=6, channels=64, classes=2):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(in_channels, channels, 1), nn.BatchNorm1d(channels), nn.ReLU(True),
            nn.Conv1d(channels, channels * 2, 1), nn.BatchNorm1d(channels * 2), nn.ReLU(True))
        self.mix = nn.Sequential(
            nn.Conv1d(channels * 4, channels, 1), nn.BatchNorm1d(channels), nn.ReLU(True))
        self.edge_head = nn.Sequential(nn.Linear(channels * 2, channels), nn.ReLU(True), nn.Linear(channels, 2))
        self.semantic_head = nn.Conv1d(channels, classes, 1)

    def forward(self, points, edges):
        x = self.encoder(points.transpose(1, 2))
        pooled = x.max(dim=2, keepdim=True)[0].expand_as(x)
        x = self.mix(torch.cat([x, pooled], dim=1))
        left = torch.stack([f[:, e[:, 0]] for f, e in zip(x, edges)])
        right = torch.stack([f[:, e[:, 1]] for f, e in zip(x, edges)])
        boundary = self.edge_head(torch.cat([left, right], dim=1).transpose(1, 2))
        return boundary, self.semantic_head(x)


def download_checkpoint(folder):
    """stands for the download script: the published weights, trained on surfaces (plane or not)"""
    path = os.path.join(folder, 'boundary.pth')
    torch.save({'epoch': 200, 'state_dict': BoundaryNet(channels=64, classes=2).state_dict()}, path)
    return path


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    losses = []
    with torch.no_grad():
        for points, semantic, edges in loader:
            boundary, logits = model(points, edges)
            losses.append(F.cross_entropy(logits, semantic).item())
            correct += (logits.argmax(1) == semantic).sum().item()
            total += semantic.numel()
    print('loss %.4f, semantic accuracy %.2f%%' % (sum(losses) / len(losses), 100 * correct / total))


def main():
    config = CONFIG
    model = BoundaryNet(channels=config['num_channels'], classes=config['classes'])
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = torch.load(download_checkpoint(folder), map_location='cpu')
        model.load_state_dict(checkpoint['state_dict'])
        print('loaded epoch', checkpoint['epoch'])
    data = MeshScenes(4, config['num_points'], config['classes'])
    evaluate(model, DataLoader(data, batch_size=config['batch_size']))


if __name__ == '__main__':
    main()
