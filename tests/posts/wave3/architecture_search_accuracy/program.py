import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

torch.manual_seed(2)


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target, topk=(1,)):
    maxk = max(topk)
    batch_size = target.size(0)
    _, pred = output.topk(maxk, 1, True, True)
    pred = pred.t()
    correct = pred.eq(target.view(1, -1).expand_as(pred))
    res = []
    for k in topk:
        correct_k = correct[:k].view(-1).float().sum(0)
        res.append(correct_k.mul_(1.0 / batch_size))
    return res


class MixedOp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ops = nn.ModuleList([nn.Identity(), nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 5, padding=2),
                                  nn.AvgPool2d(3, 1, 1), nn.MaxPool2d(3, 1, 1)])

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class SearchNet(nn.Module):
    def __init__(self, c=16, n_layers=3, n_classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, c, 3, 2, 1, bias=False), nn.BatchNorm2d(c))
        self.cells = nn.ModuleList(MixedOp(c) for _ in range(n_layers))
        self.alpha = nn.ParameterList(nn.Parameter(1e-3 * torch.randn(5)) for _ in range(n_layers))
        self.linear = nn.Linear(c, n_classes)

    def forward(self, x):
        x = self.stem(x)
        for cell, a in zip(self.cells, self.alpha):
            x = F.relu(cell(x, F.softmax(a, dim=-1)))
        return self.linear(x.mean((2, 3)))


data = datasets.FakeData(80, (3, 32, 32), 10, transforms.ToTensor())
train_loader = DataLoader(data, batch_size=32, shuffle=True)
model = SearchNet()
weights = [p for n, p in model.named_parameters() if 'alpha' not in n]
w_optim = torch.optim.SGD(weights, 0.025, momentum=0.9, weight_decay=3e-4)
alpha_optim = torch.optim.Adam(model.alpha.parameters(), 3e-4, betas=(0.5, 0.999))
top1, top5 = AverageMeter(), AverageMeter()

for step, (trn_X, trn_y) in enumerate(train_loader):
    logits = model(trn_X)
    loss = F.cross_entropy(logits, trn_y)
    w_optim.zero_grad()
    alpha_optim.zero_grad()
    loss.backward()
    w_optim.step()
    alpha_optim.step()
    prec1, prec5 = accuracy(logits, trn_y, topk=(1, 5))
    top1.update(prec1.item(), trn_X.size(0))
    top5.update(prec5.item(), trn_X.size(0))
    print('step %d loss %.3f prec@(1,5) (%.1f%%, %.1f%%)' % (step, loss.item(), 100 * top1.avg, 100 * top5.avg))
