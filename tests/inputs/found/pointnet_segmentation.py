import torch
import torch.nn as nn
import torch.nn.functional as F


class STNkd(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 8, 1)
        self.conv2 = nn.Conv1d(8, 16, 1)
        self.fc1 = nn.Linear(16, 8)
        self.fc2 = nn.Linear(8, k * k)

    def forward(self, x):
        batchsize = x.size()[0]
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = torch.max(x, 2, keepdim=True)[0]
        x = x.view(-1, 16)
        x = self.fc2(F.relu(self.fc1(x)))
        iden = torch.eye(self.k).flatten().view(1, self.k * self.k)
        x = x + iden.repeat(batchsize, 1)
        return x.view(-1, self.k, self.k)


class PointNetSeg(nn.Module):
    def __init__(self, num_class=13):
        super().__init__()
        self.num_class = num_class
        self.stn = STNkd(3)
        self.conv1 = nn.Conv1d(9, 16, 1)
        self.bn1 = nn.BatchNorm1d(16)
        self.fstn = STNkd(16)
        self.conv2 = nn.Conv1d(16, 32, 1)
        self.bn2 = nn.BatchNorm1d(32)
        self.conv3 = nn.Conv1d(32 + 16, 16, 1)
        self.conv4 = nn.Conv1d(16, num_class, 1)

    def forward(self, points):
        B, D, N = points.size()
        xyz, feature = points.split([3, D - 3], dim=1)
        trans = self.stn(xyz)
        xyz = torch.bmm(xyz.transpose(2, 1), trans).transpose(2, 1)
        x = torch.cat([xyz, feature], dim=1)
        x = F.relu(self.bn1(self.conv1(x)))
        trans_feat = self.fstn(x)
        pointfeat = torch.bmm(x.transpose(2, 1), trans_feat).transpose(2, 1)
        x = self.bn2(self.conv2(pointfeat))
        x = torch.max(x, 2, keepdim=True)[0].repeat(1, 1, N)
        x = self.conv4(F.relu(self.conv3(torch.cat([x, pointfeat], 1))))
        x = x.transpose(2, 1).contiguous()
        x = F.log_softmax(x.view(-1, self.num_class), dim=-1)
        return x.view(B, N, self.num_class), trans_feat
