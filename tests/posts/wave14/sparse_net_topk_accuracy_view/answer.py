import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def soft_threshold(x, s):
    return torch.sign(x) * torch.relu(torch.abs(x) - torch.sigmoid(s))


class STRConv(nn.Conv2d):
    """convolution with a learnt threshold on its weights"""

    def __init__(self, *args, s_init=-6.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.threshold = nn.Parameter(torch.full((1, 1), s_init))

    def forward(self, x):
        sparse = soft_threshold(self.weight, self.threshold)
        return F.conv2d(x, sparse, self.bias, self.stride, self.padding)

    def sparsity(self):
        w = soft_threshold(self.weight.detach(), self.threshold.detach())
        return (w == 0).sum().item(), w.numel()


class Net(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.layers = nn.Sequential(
            STRConv(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            STRConv(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.fc = nn.Linear(32 * 4, n_classes)

    def forward(self, x):
        return self.fc(self.layers(x).flatten(1))


class AverageMeter:
    def __init__(self, name):
        self.name, self.sum, self.count = name, 0.0, 0

    def update(self, value, n):
        self.sum += float(value) * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


def glyphs(n, seed):
    g = torch.Generator().manual_seed(seed)
    shapes = (torch.rand(10, 4, 4, generator=torch.Generator().manual_seed(77)) > 0.5).float()
    labels = torch.randint(0, 10, (n,), generator=g)
    images = F.interpolate(shapes[labels][:, None], scale_factor=4)
    return TensorDataset(images + 0.5 * torch.randn(images.shape, generator=g), labels)


def one_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    losses, top1, top5 = AverageMeter('loss'), AverageMeter('acc@1'), AverageMeter('acc@5')
    for images, target in loader:
        with torch.set_grad_enabled(optimizer is not None):
            output = model(images)
            loss = criterion(output, target)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1.item(), images.size(0))
        top5.update(acc5.item(), images.size(0))
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return ', '.join('%s %.3f' % (m.name, m.avg) for m in (losses, top1, top5))


if __name__ == '__main__':
    torch.manual_seed(0)
    train = DataLoader(glyphs(640, 0), batch_size=32, shuffle=True)
    val = DataLoader(glyphs(320, 1), batch_size=64)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    for epoch in range(3):
        print('train', epoch, one_epoch(model, train, nn.CrossEntropyLoss(), optimizer))
        print('val  ', epoch, one_epoch(model, val, nn.CrossEntropyLoss()))
    zeros = [m.sparsity() for m in model.modules() if isinstance(m, STRConv)]
    print('sparsity', ['%d of %d' % z for z in zeros])
