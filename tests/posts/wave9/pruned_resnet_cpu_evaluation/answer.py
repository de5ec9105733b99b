import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.prune as prune


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = None
        if stride != 1 or in_planes != planes:
            self.downsample = nn.Sequential(nn.Conv2d(in_planes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        residual = x if self.downsample is None else self.downsample(x)
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + residual)


class ResNetCifar(nn.Module):
    def __init__(self, n=1, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        planes, layers = 16, []
        for width, stride in ((16, 1), (32, 2), (64, 2)):
            layers += [BasicBlock(planes, width, stride)] + [BasicBlock(width, width) for _ in range(n - 1)]
            planes = width
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.layers(F.relu(self.bn1(self.conv1(x))))
        return self.fc(x.mean(dim=(2, 3)))


def create_model(parallel=True):
    model = ResNetCifar()
    if parallel:
        model = nn.DataParallel(model)
    return model


def save_checkpoint(epoch, arch, model, dir):
    path = os.path.join(dir, '%s_checkpoint.pth.tar' % arch)
    torch.save({'epoch': epoch, 'arch': arch, 'state_dict': model.state_dict()}, path)
    return path


def load_checkpoint(model, chkpt_file):
    checkpoint = torch.load(chkpt_file, map_location='cpu')
    print('=> loaded checkpoint %s (epoch %d)' % (os.path.basename(chkpt_file), checkpoint['epoch']))
    state_dict = {k.replace('module.', '', 1): v for k, v in checkpoint['state_dict'].items()}
    model.load_state_dict(state_dict)
    return model, checkpoint['epoch'] + 1


def train_and_prune(model, images, labels, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    for epoch in range(args.epochs):
        for x, y in zip(images.split(args.batch_size), labels.split(args.batch_size)):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            prune.l1_unstructured(m, 'weight', amount=args.sparsity)
            prune.remove(m, 'weight')
    return epoch


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='prune a network, then look at it without a GPU')
    parser.add_argument('--lr', type=float, default=0.05)
    parser.add_argument('--epochs', type=int, default=1)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--sparsity', type=float, default=0.5)
    args = parser.parse_args()
    device = 'cuda' if torch.cuda.is_available() else 'cpu'

    images, labels = torch.randn(64, 3, 32, 32, device=device), torch.randint(10, (64,), device=device)
    model = create_model().to(device)
    epoch = train_and_prune(model, images, labels, args)
    with tempfile.TemporaryDirectory() as outdir:
        chkpt = save_checkpoint(epoch, 'resnet8_cifar', model, outdir)
        model, start_epoch = load_checkpoint(create_model(parallel=False), chkpt)
    model.eval()
    with torch.no_grad():
        top1 = (model(images.cpu()).argmax(1) == labels.cpu()).float().mean()
    print('Top1: %.3f' % (100 * top1))
