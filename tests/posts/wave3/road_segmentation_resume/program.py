import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument('--save-path', default='exp')
parser.add_argument('--epochs', type=int, default=2)
args = parser.parse_args()


class Roads(Dataset):
    def __init__(self, n=10, size=48):
        g = torch.Generator().manual_seed(0)
        self.img = torch.rand(n, 3, size, size, generator=g)
        self.mask = (self.img.mean(1) > 0.5).long()

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.mask[i]


class SegNet(nn.Module):
    def __init__(self, nclass=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(True),
                                      nn.Conv2d(16, 32, 3, 1, 2, dilation=2), nn.BatchNorm2d(32), nn.ReLU(True))
        self.head = nn.Conv2d(32, nclass, 1)

    def forward(self, x):
        out = self.head(self.backbone(x))
        return nn.functional.interpolate(out, size=x.shape[-2:], mode='bilinear', align_corners=True)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    inter = union = 0
    for img, mask in loader:
        pred = model(img).argmax(dim=1)
        inter += ((pred == 1) & (mask == 1)).sum().item()
        union += ((pred == 1) | (mask == 1)).sum().item()
    return 100.0 * inter / max(union, 1)


def train():
    os.makedirs(args.save_path, exist_ok=True)
    loader = DataLoader(Roads(), batch_size=4, shuffle=True)
    model = SegNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    previous_best = 0.0
    for epoch in range(args.epochs):
        model.train()
        for img, mask in loader:
            loss = nn.functional.cross_entropy(model(img), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        miou = evaluate(model, loader)
        previous_best = max(previous_best, miou)
        torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(),
                    'epoch': epoch, 'previous_best': previous_best},
                   os.path.join(args.save_path, 'latest.pth'))
        print('epoch %d IoU %.2f' % (epoch, miou))


def test():
    model = SegNet()
    checkpoint = torch.load(os.path.join(args.save_path, 'latest.pth'))
    model.load_state_dict(checkpoint)
    print('test IoU %.2f' % evaluate(model, DataLoader(Roads(6), batch_size=4)))


train()
test()
