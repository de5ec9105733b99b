import copy

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


class DenseLayer(nn.Module):
    def __init__(self, in_ch, growth):
        super().__init__()
        self.norm = nn.BatchNorm2d(in_ch)
        self.conv = nn.Conv2d(in_ch, growth, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(torch.relu(self.norm(x)))], dim=1)


class SmallDenseNet(nn.Module):
    def __init__(self, num_classes=10, growth=8):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.block1 = nn.Sequential(DenseLayer(16, growth), DenseLayer(24, growth))
        self.down = nn.Sequential(nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 16, 1), nn.AvgPool2d(2))
        self.block2 = nn.Sequential(DenseLayer(16, growth), DenseLayer(24, growth))
        self.classifier = nn.Sequential(nn.Linear(32, num_classes), nn.Sigmoid())

    def forward(self, x):
        x = self.block2(self.down(self.block1(self.stem(x))))
        return self.classifier(x.mean(dim=(2, 3)))


def make_private_compatible(module):
    module = copy.deepcopy(module)
    for name, child in list(module.named_modules()):
        if isinstance(child, nn.BatchNorm2d):
            parent = module.get_submodule(name.rpartition('.')[0])
            setattr(parent, name.rpartition('.')[2], nn.GroupNorm(8, child.num_features))
    return module


class DPOptimizer:
    """Clips what every sample contributes and adds noise before the inner optimizer steps."""

    def __init__(self, optimizer, noise_multiplier, max_grad_norm, batch_size):
        self.optimizer = optimizer
        self.noise_multiplier = noise_multiplier
        self.max_grad_norm = max_grad_norm
        self.batch_size = batch_size
        self.params = [p for g in optimizer.param_groups for p in g['params'] if p.requires_grad]

    def step(self):
        for p in self.params:
            if getattr(p, 'grad_sample', None) is None:
                raise ValueError('a parameter of the optimizer has no gradients per sample')
        norms = torch.stack([p.grad_sample.flatten(1).norm(dim=1) for p in self.params]).norm(dim=0)
        scale = (self.max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
        for p in self.params:
            summed = torch.einsum('n,n...->...', scale, p.grad_sample)
            noise = torch.randn_like(p) * self.noise_multiplier * self.max_grad_norm
            p.grad = (summed + noise) / self.batch_size
            p.grad_sample = None
        self.optimizer.step()
        self.optimizer.zero_grad()


def backward_per_sample(model, criterion, images, targets):
    params = [p for p in model.parameters() if p.requires_grad]
    samples, total = [], 0.0
    for x, y in zip(images, targets):
        loss = criterion(model(x.unsqueeze(0)), y.unsqueeze(0))
        samples.append(torch.autograd.grad(loss, params))
        total += loss.item()
    for p, grads in zip(params, zip(*samples)):
        p.grad_sample = torch.stack(grads)
    return total / len(images)


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
dataset = TensorDataset(torch.rand(64, 3, 32, 32), torch.randint(0, 10, (64,)))
train_loader = DataLoader(dataset, batch_size=8, shuffle=True)
use_differential_privacy = True

model = SmallDenseNet(num_classes=10).to(device)
criterion = nn.BCELoss().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

if use_differential_privacy:
    model = make_private_compatible(model).to(device)
    optimizer = DPOptimizer(optimizer, noise_multiplier=0.5, max_grad_norm=1.0, batch_size=8)

for epoch in range(2):
    model.train()
    running_loss = 0.0
    for images, labels in train_loader:
        images = images.to(device)
        targets = nn.functional.one_hot(labels, 10).float().to(device)
        running_loss += backward_per_sample(model, criterion, images, targets)
        optimizer.step()
    print(f'epoch {epoch} loss {running_loss / len(train_loader):.4f}')
