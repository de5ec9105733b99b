import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

config = {
    'dataset': 'cifar10_lt',
    'num_classes': 10,
    'imb_ratio': 50,
    'input_size': 32,
    'layers': [1, 1, 1, 1],
    'pool_kernel': 1,
    'batch_size': 32,
    'num_head': 2,
    'tau': 16.0,
    'epochs': 1,
}


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, planes * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.downsample = None
        if stride != 1 or inplanes != planes * 4:
            self.downsample = nn.Sequential(nn.Conv2d(inplanes, planes * 4, 1, stride, bias=False),
                                            nn.BatchNorm2d(planes * 4))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + identity)


class ResNetBackbone(nn.Module):
    def __init__(self, layers, pool_kernel, width=16):
        super().__init__()
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(width, layers[0], 1)
        self.layer2 = self._make_layer(width * 2, layers[1], 2)
        self.layer3 = self._make_layer(width * 4, layers[2], 2)
        self.layer4 = self._make_layer(width * 8, layers[3], 2)
        self.avgpool = nn.AvgPool2d(pool_kernel, stride=1)
        self.feat_dim = self.inplanes

    def _make_layer(self, planes, blocks, stride):
        seq = [Bottleneck(self.inplanes, planes, stride)]
        self.inplanes = planes * 4
        seq += [Bottleneck(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*seq)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = self.avgpool(x)
        return x.view(x.size(0), -1)


class CausalNormClassifier(nn.Module):
    def __init__(self, feat_dim, num_classes, num_head, tau):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_classes, feat_dim) * feat_dim ** -0.5)
        self.num_head, self.scale = num_head, tau / num_head

    def forward(self, x):
        w = self.weight.chunk(self.num_head, dim=1)
        x = x.chunk(self.num_head, dim=1)
        return sum(self.scale * F.normalize(a, dim=1) @ (b / (b.norm(dim=1, keepdim=True) + 1 / 32)).t()
                   for a, b in zip(x, w))


class LongTailImages(Dataset):
    def __init__(self, cfg, head=120, seed=0):
        rng = np.random.RandomState(seed)
        n_cls, s = cfg['num_classes'], cfg['input_size']
        counts = [max(1, int(head * (1 / cfg['imb_ratio']) ** (c / (n_cls - 1)))) for c in range(n_cls)]
        colors = rng.rand(n_cls, 3, 1, 1)
        self.y = np.repeat(np.arange(n_cls), counts)
        self.x = (colors[self.y] + 0.2 * rng.randn(len(self.y), 3, s, s)).astype('float32')
        self.counts = counts

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]), int(self.y[i])


torch.manual_seed(0)
train_set = LongTailImages(config)
print(config['dataset'], 'class counts', train_set.counts)
loader = DataLoader(train_set, batch_size=config['batch_size'], shuffle=True)
backbone = ResNetBackbone(config['layers'], config['pool_kernel'])
classifier = CausalNormClassifier(backbone.feat_dim, config['num_classes'], config['num_head'], config['tau'])
optimizer = torch.optim.SGD(list(backbone.parameters()) + list(classifier.parameters()), lr=0.05, momentum=0.9)

for epoch in range(config['epochs']):
    hits = 0
    for images, labels in loader:
        optimizer.zero_grad()
        logits = classifier(backbone(images))
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        hits += (logits.argmax(1) == labels).sum().item()
    print('epoch %d loss %.3f acc %.3f' % (epoch, loss.item(), hits / len(train_set)))
