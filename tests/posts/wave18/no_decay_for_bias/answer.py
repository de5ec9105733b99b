import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Trunk(nn.Module):
    def __init__(self, width=32, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(width, width * 2, 3, stride=2, padding=1),
                                   nn.BatchNorm2d(width * 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(width * 2, width), nn.LayerNorm(width),
                                  nn.ReLU(), nn.Linear(width, classes))

    def forward(self, x):
        return self.head(self.block(self.stem(x)))


def get_optimizer_param_groups(model, weight_decay, regularize_bn=False, regularize_bias=True):
    conv_types = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
    bn_types = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.LayerNorm)
    regularized_params, unregularized_params = [], []
    for module in model.modules():
        if isinstance(module, conv_types):
            regularized_params.append(module.weight)
            if module.bias is not None:
                if regularize_bias:
                    regularized_params.append(module.bias)
                else:
                    unregularized_params.append(module.bias)
        elif isinstance(module, bn_types):
            if module.weight is not None:
                (regularized_params if regularize_bn else unregularized_params).append(module.weight)
            if module.bias is not None:
                if regularize_bn and regularize_bias:
                    regularized_params.append(module.bias)
                else:
                    unregularized_params.append(module.bias)
    regularized_params = [p for p in regularized_params if p.requires_grad]
    unregularized_params = [p for p in unregularized_params if p.requires_grad]
    return [
        {'params': regularized_params, 'weight_decay': weight_decay},
        {'params': unregularized_params, 'weight_decay': 0.0},
    ]


def make_loader(n, batch_size, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=g)
    x = torch.randn(n, 3, 16, 16, generator=g) * 0.5 + y.view(-1, 1, 1, 1) / 10
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=0.05)
    parser.add_argument('--weight-decay', type=float, default=1e-2)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--regularize-bias', action='store_true')
    parser.add_argument('--regularize-bn', action='store_true')
    args = parser.parse_args()
    torch.manual_seed(0)

    model = Trunk()
    groups = get_optimizer_param_groups(model, args.weight_decay, args.regularize_bn, args.regularize_bias)
    optimizer = torch.optim.SGD(groups, lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    train_loader = make_loader(512, 32, seed=0)

    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f'epoch {epoch} loss {sum(losses) / len(losses):.4f}')
    bias_norm = sum(p.norm() ** 2 for n, p in model.named_parameters() if n.endswith('bias')).sqrt()
    print(f'bias norm {bias_norm:.4f}')


if __name__ == '__main__':
    main()
