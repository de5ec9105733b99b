import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ShapeNetPart(Dataset):
    """points (3, N), the label of the shape and the part of every point"""

    def __init__(self, n=44, num_points=128, num_labels=16, num_parts=50, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, num_labels, (n,), generator=g)
        self.points = torch.randn(n, 3, num_points, generator=g) * (1 + self.label.view(-1, 1, 1) / num_labels)
        self.parts = (self.label.view(-1, 1) * 3 + (self.points[:, 2] > 0).long()) % num_parts

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.points[i], self.label[i], self.parts[i]


class PointNetPartSeg(nn.Module):
    def __init__(self, num_labels=16, num_parts=50):
        super(PointNetPartSeg, self).__init__()
        self.num_parts = num_parts
        self.conv1, self.bn1 = nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64)
        self.conv2, self.bn2 = nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128)
        self.conv3, self.bn3 = nn.Conv1d(128, 256, 1), nn.BatchNorm1d(256)
        self.fc1, self.fc2 = nn.Linear(256, 128), nn.Linear(128, num_labels)
        self.convs1 = nn.Conv1d(64 + 128 + 256 + num_labels, 128, 1)
        self.convs2 = nn.Conv1d(128, num_parts, 1)

    def forward(self, points, one_hot):
        n_pts = points.size(2)
        out1 = F.relu(self.bn1(self.conv1(points)))
        out2 = F.relu(self.bn2(self.conv2(out1)))
        out3 = self.bn3(self.conv3(out2))
        out_max = out3.max(dim=2)[0]
        labels_pred = self.fc2(F.relu(self.fc1(out_max)))
        expand = torch.cat([out_max, one_hot], 1).unsqueeze(2).expand(-1, -1, n_pts)
        net = F.relu(self.convs1(torch.cat([expand, out1, out2], 1)))
        net = self.convs2(net).transpose(2, 1).contiguous()
        seg_pred = F.log_softmax(net.view(-1, self.num_parts), dim=-1)
        return labels_pred, seg_pred.view(points.size(0), n_pts, self.num_parts)


class PointNetLoss(nn.Module):
    def __init__(self, weight=1.0):
        super(PointNetLoss, self).__init__()
        self.weight = weight

    def forward(self, labels_pred, label, seg_pred, seg):
        seg_loss = F.nll_loss(seg_pred, seg)
        label_loss = F.cross_entropy(labels_pred, label)
        return self.weight * seg_loss + (1 - self.weight) * label_loss, seg_loss, label_loss


def train(epochs=3, batch_size=16):
    torch.manual_seed(1)
    loader = DataLoader(ShapeNetPart(), batch_size=batch_size, shuffle=True)
    model, criterion = PointNetPartSeg(), PointNetLoss(weight=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for epoch in range(epochs):
        for points, label, target in loader:
            model.train()
            one_hot = F.one_hot(label, 16).float()
            labels_pred, seg_pred = model(points, one_hot)
            seg_pred = seg_pred.contiguous().view(-1, 50)
            loss, seg_loss, label_loss = criterion(labels_pred, label, seg_pred, target.view(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f'epoch {epoch} loss {loss.item():.4f} seg {seg_loss.item():.4f} label {label_loss.item():.4f}')


if __name__ == '__main__':
    train()
