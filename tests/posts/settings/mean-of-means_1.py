# line 31: the meter counts every batch once, although the last batch of the test has fewer samples
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.total = self.count = 0.0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def avg(self):
        return self.total / self.count


def precision(logits, label):
    return 100.0 * logits.argmax(1).eq(label).sum().item() / label.size(0)


def evaluate(net, loader):
    net.eval()
    top1, loss = AverageMeter(), AverageMeter()
    with torch.no_grad():
        for gesture, label in loader:
            logits = net(gesture)
            loss.update(nn.functional.cross_entropy(logits, label).item(), len(label))
            top1.update(precision(logits, label))
    return top1.avg, loss.avg


torch.manual_seed(56)
label = torch.randint(4, (267,))
gesture = torch.randn(267, 6, 30)
gesture[torch.arange(267), label] += 0.4
train = DataLoader(TensorDataset(gesture[:200], label[:200]), 40, shuffle=True)
test = DataLoader(TensorDataset(gesture[200:], label[200:]), 32)
net = nn.Sequential(nn.Conv1d(6, 16, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    net.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    print(epoch, "top-1 %.2f loss %.3f" % evaluate(net, test))
