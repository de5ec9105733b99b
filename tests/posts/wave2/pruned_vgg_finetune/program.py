import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class VGG(nn.Module):
    def __init__(self, cfg=(16, 'M', 32, 'M', 64, 'M'), num_classes=10):
        super().__init__()
        layers, cin = [], 3
        for v in cfg:
            if v == 'M':
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(cin, v, 3, padding=1), nn.ReLU()]
                cin = v
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(cin, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


def speedup_model(model, sparsity):
    """keep the filters with the largest L1 norm and replace the layers by smaller ones"""
    kept = None
    for i, layer in enumerate(model.features):
        if isinstance(layer, nn.Conv2d):
            n_keep = max(1, int(layer.out_channels * (1 - sparsity)))
            index = layer.weight.detach().abs().sum(dim=(1, 2, 3)).topk(n_keep)[1].sort()[0]
            weight = layer.weight.detach()[index]
            if kept is not None:
                weight = weight[:, kept]
            smaller = nn.Conv2d(weight.size(1), n_keep, 3, padding=1)
            smaller.weight.data.copy_(weight)
            smaller.bias.data.copy_(layer.bias.detach()[index])
            model.features[i] = smaller
            kept = index
    head = nn.Linear(len(kept), model.classifier.out_features)
    head.weight.data.copy_(model.classifier.weight.detach()[:, kept])
    head.bias.data.copy_(model.classifier.bias.detach())
    model.classifier = head


def train(model, loader, optimizer, epoch):
    model.train()
    total = 0.0
    for data, target in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    print('epoch', epoch, 'loss %.4f' % (total / len(loader.dataset)))


torch.manual_seed(0)
dataset = datasets.FakeData(72, (3, 32, 32), 10, transforms.ToTensor())
train_loader = DataLoader(dataset, batch_size=32, shuffle=True)
model = VGG()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

print('pretraining')
for epoch in range(2):
    train(model, train_loader, optimizer, epoch)

print('pruning')
speedup_model(model, sparsity=0.5)
before = copy.deepcopy(model.state_dict())

print('finetuning')
for epoch in range(3):
    train(model, train_loader, optimizer, epoch)
moved = sum((before[k] - v).abs().sum().item() for k, v in model.state_dict().items())
print('change of the weights: %.4f' % moved)
