import argparse
import os
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', default=6, type=int)
parser.add_argument('--stop-after', default=3, type=int, help='simulates a job that is killed')
parser.add_argument('-b', '--batch-size', default=32, type=int)
parser.add_argument('--lr', default=0.05, type=float)
parser.add_argument('--resume', default='checkpoint.pth.tar')


class AverageMeter(object):
    """Computes and stores the average and current value"""
    def __init__(self, name, fmt=':f'):
        self.name = name
        self.fmt = fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        fmtstr = '{name} {val' + self.fmt + '} ({avg' + self.fmt + '})'
        return fmtstr.format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def data(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 8, n)
    x = np.random.default_rng(1234).normal(size=(8, 32))[y] + 1.5 * rng.normal(size=(n, 32))
    return TensorDataset(torch.from_numpy(x).float(), torch.from_numpy(y))


def train(loader, model, criterion, optimizer, scaler, epoch, device):
    losses, top1, top5 = AverageMeter('Loss', ':.4f'), AverageMeter('Acc@1', ':6.2f'), AverageMeter('Acc@5', ':6.2f')
    model.train()
    for i, (x, target) in enumerate(loader):
        x, target = x.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.autocast(device_type=device.type, enabled=device.type == 'cuda'):
            output = model(x)
            loss = criterion(output, target)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), x.size(0))
        top1.update(acc1[0].item(), x.size(0))
        top5.update(acc5[0].item(), x.size(0))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        scaler.step(optimizer)
        scaler.update()
    print('Epoch [%d]' % epoch, losses, top1, top5)


def main_worker(args, last_epoch):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    model = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 8)).to(device)
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == 'cuda')
    start_epoch = 0
    if os.path.isfile(args.resume):
        checkpoint = torch.load(args.resume, map_location=device)
        start_epoch = checkpoint['epoch']
        model.load_state_dict(checkpoint['state_dict'])
        optimizer.load_state_dict(checkpoint['optimizer'])
        scheduler.load_state_dict(checkpoint['scheduler'])
        scaler.load_state_dict(checkpoint['scaler'])
        torch.set_rng_state(checkpoint['rng'])
        print("=> loaded checkpoint (epoch {})".format(start_epoch), 'lr', optimizer.param_groups[0]['lr'])
    loader = DataLoader(data(430, 0), batch_size=args.batch_size, shuffle=True)
    for epoch in range(start_epoch, last_epoch):
        train(loader, model, criterion, optimizer, scaler, epoch, device)
        scheduler.step()
        torch.save({'epoch': epoch + 1, 'state_dict': model.state_dict(), 'optimizer': optimizer.state_dict(),
                    'scheduler': scheduler.state_dict(), 'scaler': scaler.state_dict(),
                    'rng': torch.get_rng_state()}, args.resume)


if __name__ == '__main__':
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    main_worker(args, args.stop_after)
    main_worker(args, args.epochs)
