import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, TensorDataset


class MetaModule(nn.Module):
    """Modules whose weights can be replaced by the result of an update (weights live in buffers)."""

    def params(self):
        for name, p in self.named_params():
            yield p

    def named_params(self, prefix=''):
        for name, p in self.named_leaves():
            yield prefix + name, p
        for cname, child in self.named_children():
            if isinstance(child, MetaModule):
                yield from child.named_params(prefix + cname + '.')

    def named_leaves(self):
        return []


class MetaLinear(MetaModule):
    def __init__(self, n_in, n_out):
        super().__init__()
        ref = nn.Linear(n_in, n_out)
        self.register_buffer('weight', ref.weight.data.clone().requires_grad_())
        self.register_buffer('bias', ref.bias.data.clone().requires_grad_())

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)

    def named_leaves(self):
        return [('weight', self.weight), ('bias', self.bias)]


class MetaConv2d(MetaModule):
    def __init__(self, n_in, n_out, k):
        super().__init__()
        ref = nn.Conv2d(n_in, n_out, k)
        self.register_buffer('weight', ref.weight.data.clone().requires_grad_())
        self.register_buffer('bias', ref.bias.data.clone().requires_grad_())

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias)

    def named_leaves(self):
        return [('weight', self.weight), ('bias', self.bias)]


class LeNet(MetaModule):
    def __init__(self, n_out):
        super().__init__()
        self.conv1 = MetaConv2d(1, 6, 5)
        self.conv2 = MetaConv2d(6, 16, 5)
        self.fc1 = MetaLinear(16 * 4 * 4, 84)
        self.fc2 = MetaLinear(84, n_out)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1)))).squeeze(1)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--momentum', type=float, default=0.9)
    args = parser.parse_args()

    data = TensorDataset(torch.rand(250, 1, 28, 28), (torch.rand(250) > 0.9).float())
    loader = DataLoader(data, batch_size=100, shuffle=True)
    model = LeNet(n_out=1)
    optimizer = optim.SGD(model.params(), lr=args.lr, momentum=args.momentum)
    for image, label in loader:
        loss = F.binary_cross_entropy_with_logits(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('loss %.4f' % loss.item())
