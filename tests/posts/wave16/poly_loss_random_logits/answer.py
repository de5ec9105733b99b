import torch
import torch.nn as nn
import torch.nn.functional as F


class Poly1CrossEntropy(nn.Module):
    """cross entropy with an extra first order term, see the PolyLoss paper"""

    def __init__(self, num_classes, epsilon=1.0, reduction='mean', weight=None):
        super().__init__()
        self.num_classes = num_classes
        self.epsilon = epsilon
        self.reduction = reduction
        self.weight = weight

    def forward(self, logits, labels):
        onehot = F.one_hot(labels, num_classes=self.num_classes).to(logits.dtype)
        pt = (onehot * F.softmax(logits, dim=-1)).sum(dim=-1)
        ce = F.cross_entropy(logits, labels, reduction='none', weight=self.weight)
        loss = ce + self.epsilon * (1 - pt)
        if self.reduction == 'mean':
            return loss.mean()
        if self.reduction == 'sum':
            return loss.sum()
        return loss


class Poly1Focal(nn.Module):
    def __init__(self, num_classes, epsilon=1.0, alpha=0.25, gamma=2.0):
        super().__init__()
        self.num_classes = num_classes
        self.epsilon, self.alpha, self.gamma = epsilon, alpha, gamma

    def forward(self, logits, labels):
        target = F.one_hot(labels, num_classes=self.num_classes).to(logits.dtype)
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction='none')
        pt = target * p + (1 - target) * (1 - p)
        at = target * self.alpha + (1 - target) * (1 - self.alpha)
        focal = at * ce * (1 - pt) ** self.gamma
        return (focal + self.epsilon * (1 - pt) ** (self.gamma + 1)).mean()


def demo(criterion, batch_size=8, num_classes=10):
    logits = torch.rand([batch_size, num_classes], requires_grad=True)
    labels = torch.randint(0, num_classes, [batch_size])
    loss = criterion(logits, labels)
    loss.backward()
    return loss.item()


def fit_blobs(criterion, num_classes=10, epochs=5):
    g = torch.Generator().manual_seed(1)
    centers = 2 * torch.randn(num_classes, 16, generator=g)
    y = torch.randint(0, num_classes, (512,), generator=g)
    x = centers[y] + torch.randn(512, 16, generator=g)
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, num_classes))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(epochs):
        for idx in torch.randperm(512).split(64):
            opt.zero_grad()
            criterion(net(x[idx]), y[idx]).backward()
            opt.step()
    return (net(x).argmax(1) == y).float().mean().item()


if __name__ == '__main__':
    torch.manual_seed(0)
    for cls in (Poly1CrossEntropy, Poly1Focal):
        criterion = cls(num_classes=10)
        print(cls.__name__, 'on random logits %.4f' % demo(criterion))
        print(cls.__name__, 'accuracy on blobs %.3f' % fit_blobs(criterion))
