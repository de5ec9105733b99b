import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--nc', type=int, default=32)
parser.add_argument('--batch_size', type=int, default=32)
parser.add_argument('--epochs', type=int, default=2)
parser.add_argument('--lr', type=float, default=0.01)
args = parser.parse_args()


def guassian_kernel(source, target, kernel_mul=2.0, kernel_num=5):
    total = torch.cat([source, target], dim=0)
    L2_distance = ((total.unsqueeze(0) - total.unsqueeze(1)) ** 2).sum(2)
    n = total.size(0)
    bandwidth = torch.sum(L2_distance.detach()) / (n ** 2 - n)
    bandwidth /= kernel_mul ** (kernel_num // 2)
    return sum(torch.exp(-L2_distance / (bandwidth * kernel_mul ** i)) for i in range(kernel_num))


def cmmd(source, target, s_label, t_label):
    s_label = s_label.view(args.batch_size, 1)
    s_label = torch.zeros(args.batch_size, 31).scatter_(1, s_label.data, 1)
    t_label = t_label.view(args.batch_size, 1)
    t_label = torch.zeros(args.batch_size, 31).scatter_(1, t_label.data, 1)
    kernels = guassian_kernel(source, target)
    b = args.batch_size
    XX, YY, XY = kernels[:b, :b], kernels[b:, b:], kernels[:b, b:]
    return torch.mean(torch.mm(s_label, s_label.t()) * XX + torch.mm(t_label, t_label.t()) * YY
                      - 2 * torch.mm(s_label, t_label.t()) * XY)


class InceptionA(nn.Module):
    def __init__(self, in_channels):
        super(InceptionA, self).__init__()
        self.branch1x1 = nn.Conv2d(in_channels, 16, kernel_size=1)
        self.branch3x3 = nn.Sequential(nn.Conv2d(in_channels, 16, 1), nn.Conv2d(16, 24, 3, padding=1))
        self.source_fc = nn.Linear(40, args.nc)

    def features(self, x):
        pooled = [F.adaptive_avg_pool2d(b(x), 1).flatten(1) for b in (self.branch1x1, self.branch3x3)]
        return torch.cat(pooled, 1)

    def forward(self, source, target, s_label):
        source, target = self.features(source), self.features(target)
        t_label = self.source_fc(target).data.max(1)[1]
        loss = cmmd(source, target, s_label, t_label)
        return self.source_fc(source), loss


class MRANNet(nn.Module):
    def __init__(self):
        super(MRANNet, self).__init__()
        self.sharedNet = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.Inception = InceptionA(32)

    def forward(self, source, target, s_label):
        return self.Inception(self.sharedNet(source), self.sharedNet(target), s_label)


def make_domain(shift, n=256):
    labels = torch.arange(n) % args.nc
    images = torch.randn(n, 3, 32, 32) * 0.5 + labels.view(-1, 1, 1, 1) / args.nc + shift
    return TensorDataset(images, labels)


torch.manual_seed(1)
source_loader = DataLoader(make_domain(0.0), batch_size=args.batch_size, shuffle=True, drop_last=True)
target_loader = DataLoader(make_domain(0.4), batch_size=args.batch_size, shuffle=True, drop_last=True)
model = MRANNet()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
for epoch in range(args.epochs):
    for (data_source, label_source), (data_target, _) in zip(source_loader, target_loader):
        optimizer.zero_grad()
        s_output, cmmd_loss = model(data_source, data_target, label_source)
        soft_loss = F.cross_entropy(s_output, label_source)
        loss = soft_loss + 0.3 * cmmd_loss
        loss.backward()
        optimizer.step()
    print('epoch: %d, soft_loss: %.4f, cmmd_loss: %.4f' % (epoch, soft_loss.item(), cmmd_loss.item()))
