import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(), nn.MaxPool2d(2))


class ChestNet(nn.Module):
    def __init__(self, num_classes=2):
        super().__init__()
        self.features = nn.Sequential(block(1, 12), block(12, 24), block(24, 32))
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).mean(dim=(2, 3)))


def hospital(n, contrast, offset, positive_rate, seed):
    """X-rays of one hospital: own contrast and brightness of the scanner."""
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) < positive_rate).long()
    x = torch.randn(n, 1, 24, 24, generator=g) * 0.5
    spot = torch.randint(4, 14, (n, 2), generator=g)
    for i in range(n):
        if y[i]:
            r, c = spot[i].tolist()
            x[i, 0, r:r + 6, c:c + 6] += 0.9
    return TensorDataset(contrast * x + offset, y)


class BaseAlgo:
    def __init__(self, args, train_set, val_set, test_set):
        self.args = args
        self.phi = ChestNet()
        self.loaders = {
            'train': DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True),
            'val': DataLoader(val_set, args.batch_size),
            'test': DataLoader(test_set, args.batch_size),
        }
        self.opt = torch.optim.SGD(self.phi.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
        self.val_acc, self.test_acc = [], []
        self.path = os.path.join(args.out, 'Model_%s.pth' % args.method)

    def get_test_accuracy(self, case):
        self.phi.eval()
        correct = total = 0
        with torch.no_grad():
            for x, y in self.loaders[case]:
                pred = self.phi(x).argmax(dim=1)
                correct += (pred == y).sum().item()
                total += len(y)
        return 100.0 * correct / total

    def save_model(self):
        torch.save(self.phi.state_dict(), self.path)


class Erm(BaseAlgo):
    def train(self):
        best = -1
        for epoch in range(self.args.epochs):
            self.phi.train()
            total_loss = 0.0
            for x, y in self.loaders['train']:
                loss = F.cross_entropy(self.phi(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total_loss += loss.item()

            self.val_acc.append(self.get_test_accuracy('val'))
            self.test_acc.append(self.get_test_accuracy('test'))
            if self.val_acc[-1] > best:
                best = self.val_acc[-1]
                self.best_epoch = epoch
                self.save_model()
            print('Epoch %d loss %.3f val %.2f test %.2f' % (
                epoch, total_loss / len(self.loaders['train']), self.val_acc[-1], self.test_acc[-1]))


class BaseEval:
    def __init__(self, path, test_set, batch_size):
        self.loader = DataLoader(test_set, batch_size)
        self.phi = ChestNet()
        self.phi.load_state_dict(torch.load(path))
        self.phi.eval()

    @torch.no_grad()
    def accuracy(self):
        hits = [(self.phi(x).argmax(1) == y).float() for x, y in self.loader]
        return 100.0 * torch.cat(hits).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--method', default='erm')
    parser.add_argument('--epochs', type=int, default=6)
    parser.add_argument('--batch-size', dest='batch_size', type=int, default=32)
    parser.add_argument('--lr', type=float, default=0.02)
    parser.add_argument('--out', default=tempfile.mkdtemp())
    args = parser.parse_args()

    torch.manual_seed(0)
    nih = hospital(320, 1.0, 0.0, 0.5, seed=1)
    chexpert = hospital(320, 1.2, 0.3, 0.5, seed=2)
    val = hospital(128, 1.1, 0.1, 0.5, seed=3)
    rsna = hospital(256, 0.7, 0.4, 0.2, seed=4)

    algo = Erm(args, ConcatDataset([nih, chexpert]), val, rsna)
    algo.train()
    print('test accuracy at the best epoch (training log): %.2f' % algo.test_acc[algo.best_epoch])
    print('test accuracy of the saved model (test script): %.2f' % BaseEval(algo.path, rsna, args.batch_size).accuracy())


if __name__ == '__main__':
    main()
