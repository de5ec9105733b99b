# line 9: the loss is the sum of targets times log_softmax although each scan may show several findings
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def soft_ce(logits, findings):
    return torch.mean(torch.sum(-findings * F.log_softmax(logits, dim=-1), dim=-1))


class ScanNet(nn.Module):
    def __init__(self, findings=4):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16 * 16, findings)

    def forward(self, scan):
        x = F.max_pool2d(F.relu(self.conv1(scan)), 2)
        x = F.max_pool2d(F.relu(self.bn(self.conv2(x))), 2)
        return self.fc(x.flatten(1))


def make_scans(n):
    findings = torch.bernoulli(torch.full((n, 4), 0.45))
    scan = 0.3 * torch.randn(n, 1, 16, 16)
    for f, (top, left) in enumerate([(0, 0), (0, 8), (8, 0), (8, 8)]):
        scan[:, 0, top : top + 8, left : left + 8] += findings[:, f].view(-1, 1, 1)
    return TensorDataset(scan, findings)


torch.manual_seed(37)
train, test = DataLoader(make_scans(160), 32, shuffle=True), DataLoader(make_scans(64), 32)
net = ScanNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(4):
    net.train()
    for scan, findings in train:
        opt.zero_grad()
        soft_ce(net(scan), findings).backward()
        opt.step()
    net.eval()
    exact = count = 0
    with torch.no_grad():
        for scan, findings in test:
            probability = torch.sigmoid(net(scan))
            exact += ((probability > 0.5).float() == findings).all(1).sum().item()
            count += len(scan)
    print(epoch, "exact match", exact / count)
