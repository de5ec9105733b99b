import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, c_in, c_out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.short = nn.Sequential()
        if stride != 1 or c_in != c_out:
            self.short = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.short(x))


class CifarResNet(nn.Module):
    def __init__(self, num_classes=100):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.stage1 = Residual(16, 16)
        self.stage2 = Residual(16, 32, 2)
        self.stage3 = Residual(32, 64, 2)
        self.linear = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.stage3(self.stage2(self.stage1(self.stem(x))))
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


model_dict = {'resnet_small': CifarResNet}


def pretrain_checkpoint(folder):
    """The teacher saved after 240 epochs on the 100-class set."""
    teacher = CifarResNet(num_classes=100)
    path = os.path.join(folder, 'ckpt_epoch_240.pth')
    torch.save({'opt': 'resnet_small', 'epoch': 240, 'model': teacher.state_dict()}, path)
    return path


def ten_class_loader(n=128, batch_size=32):
    labels = torch.randint(0, 10, (n,))
    images = torch.randn(n, 3, 32, 32) + 0.2 * labels.view(-1, 1, 1, 1)
    return DataLoader(TensorDataset(images, labels), batch_size=batch_size, shuffle=True)


def parse_option():
    parser = argparse.ArgumentParser()
    parser.add_argument('--model', default='resnet_small', choices=list(model_dict))
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--lr', type=float, default=0.01)
    return parser.parse_args()


def main():
    opt = parse_option()
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        model_path = pretrain_checkpoint(folder)
        model = model_dict[opt.model](num_classes=10)
        pre_weights = torch.load(model_path)['model']
        pre_weights = {k: v for k, v in pre_weights.items() if not k.startswith('linear.')}
        model.load_state_dict(pre_weights, strict=False)
    print('loaded', model_path)

    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=opt.lr, momentum=0.9)
    loader = ten_class_loader()
    for epoch in range(opt.epochs):
        model.train()
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print('epoch %d loss %.4f' % (epoch, total / len(loader)))


if __name__ == '__main__':
    main()
