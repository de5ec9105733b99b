import torch
import torch.nn as nn
import torch.nn.functional as F


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 16, 1)
        self.conv2 = nn.Conv1d(16, 32, 1)
        self.conv3 = nn.Conv1d(32, 64, 1)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, k * k)

    def forward(self, x):
        batchsize = x.size(0)
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        x = torch.max(x, 1)[0]
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        iden = torch.eye(self.k, device=x.device).view(1, self.k * self.k)
        x = x + iden.repeat(batchsize, 1)
        return x.view(-1, self.k, self.k)


class Model(nn.Module):
    def __init__(self, k=10):
        super().__init__()
        self.stn = TNet(3)
        self.conv1 = nn.Conv1d(3, 16, 1)
        self.conv2 = nn.Conv1d(16, 48, 1)
        self.bn1 = nn.BatchNorm1d(16)
        self.bn2 = nn.BatchNorm1d(48)
        self.fc = nn.Linear(48, k)

    def forward(self, points):
        x = points.transpose(2, 1)
        trans = self.stn(x)
        x = torch.bmm(x, trans)
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x)).amax(dim=-1)
        return F.log_softmax(self.fc(x), dim=1), trans


def example_inputs():
    return (torch.randn(4, 60, 3),)
