import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", default=8, type=int, help="training batch size")
    parser.add_argument("--num_points", default=256, type=int)
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("--lr", default=1e-3, type=float)
    return parser.parse_args()


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 32, 1)
        self.conv2 = nn.Conv1d(32, 128, 1)
        self.fc1 = nn.Linear(128, 64)
        self.fc2 = nn.Linear(64, k * k)
        self.bn1 = nn.BatchNorm1d(32)
        self.bn2 = nn.BatchNorm1d(128)
        self.bn3 = nn.BatchNorm1d(64)

    def forward(self, x):
        b = x.size(0)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = x.max(dim=2)[0]
        x = F.relu(self.bn3(self.fc1(x)))
        identity = torch.eye(self.k, device=x.device).expand(b, -1, -1)
        return self.fc2(x).view(b, self.k, self.k) + identity


class PointNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.input_transform = TNet(3)
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.conv2 = nn.Conv1d(32, 128, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.bn2 = nn.BatchNorm1d(128)
        self.fc1 = nn.Linear(128, 64)
        self.bn3 = nn.BatchNorm1d(64)
        self.dropout = nn.Dropout(0.3)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, points):
        matrix = self.input_transform(points)
        x = torch.bmm(points.transpose(1, 2), matrix).transpose(1, 2)
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x)).max(dim=2)[0]
        x = F.relu(self.bn3(self.dropout(self.fc1(x))))
        return F.log_softmax(self.fc2(x), dim=1), matrix


def pointnet_loss(outputs, labels, matrix, alpha=1e-3):
    eye = torch.eye(3, device=outputs.device)
    diff = eye - torch.bmm(matrix, matrix.transpose(1, 2))
    return F.nll_loss(outputs, labels) + alpha * diff.norm() / outputs.size(0)


def make_clouds(n, num_points):
    labels = torch.randint(0, 4, (n,))
    stretch = torch.tensor([[1., 1., 1.], [3., 1., 1.], [1., 3., 1.], [1., 1., 0.1]])
    clouds = torch.randn(n, num_points, 3) * stretch[labels][:, None, :]
    clouds = clouds - clouds.mean(dim=1, keepdim=True)
    return clouds / clouds.norm(dim=2).amax(dim=1)[:, None, None], labels


def train(args):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    clouds, labels = make_clouds(32, args.num_points)
    loader = DataLoader(TensorDataset(clouds, labels), batch_size=args.batch_size, shuffle=True)
    pointnet = PointNet().to(device)
    optimizer = torch.optim.Adam(pointnet.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        pointnet.train()
        running = 0.0
        for inputs, target in loader:
            inputs, target = inputs.to(device), target.to(device)
            optimizer.zero_grad()
            outputs, matrix = pointnet(inputs.transpose(1, 2))
            loss = pointnet_loss(outputs, target, matrix)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print("epoch %d loss %.3f" % (epoch + 1, running / len(loader)))


if __name__ == "__main__":
    torch.manual_seed(0)
    train(parse_args())
