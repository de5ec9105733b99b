import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.models as models
from torch.utils.data import Dataset, DataLoader

CKPT_DIR = tempfile.mkdtemp()


def train_parser():
    parser = argparse.ArgumentParser(description='depth training')
    parser.add_argument('--encoder', type=str, default='densenet161')
    parser.add_argument('--bts_size', type=int, default=64)
    parser.add_argument('--max_depth', type=float, default=10.0)
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--learning_rate', type=float, default=1e-4)
    parser.add_argument('--checkpoint', type=str, required=True)
    return parser


def test_parser():
    parser = argparse.ArgumentParser(description='depth testing')
    parser.add_argument('--encoder', type=str, default='densenet161')
    parser.add_argument('--bts_size', type=int, default=64)
    parser.add_argument('--max_depth', type=float, default=10.0)
    parser.add_argument('--checkpoint_path', type=str, required=True)
    return parser


class IndoorDepth(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(7)
        self.rgb = torch.rand(n, 3, 64, 64, generator=g)
        self.depth = self.rgb.mean(dim=1, keepdim=True) * 9 + 0.5

    def __len__(self):
        return len(self.rgb)

    def __getitem__(self, i):
        return self.rgb[i], self.depth[i]


class Encoder(nn.Module):
    def __init__(self, params):
        super().__init__()
        if params.encoder == 'densenet121':
            self.base_model = models.densenet121(weights=None).features
            self.out_channels = 1024
        elif params.encoder == 'densenet161':
            self.base_model = models.densenet161(weights=None).features
            self.out_channels = 2208
        else:
            raise ValueError('unknown encoder ' + params.encoder)

    def forward(self, x):
        return F.relu(self.base_model(x))


class Decoder(nn.Module):
    def __init__(self, params, in_channels):
        super().__init__()
        self.max_depth = params.max_depth
        n = params.bts_size
        self.reduce = nn.Conv2d(in_channels, n, 1)
        self.up1 = nn.Conv2d(n, n // 2, 3, padding=1)
        self.up2 = nn.Conv2d(n // 2, n // 4, 3, padding=1)
        self.depth = nn.Conv2d(n // 4, 1, 3, padding=1)

    def forward(self, x, size):
        x = F.elu(self.reduce(x))
        x = F.elu(self.up1(F.interpolate(x, scale_factor=4)))
        x = F.elu(self.up2(F.interpolate(x, scale_factor=4)))
        x = F.interpolate(x, size=size)
        return torch.sigmoid(self.depth(x)) * self.max_depth


class DepthModel(nn.Module):
    def __init__(self, params):
        super().__init__()
        self.encoder = Encoder(params)
        self.decoder = Decoder(params, self.encoder.out_channels)

    def forward(self, x):
        return self.decoder(self.encoder(x), x.shape[2:])


def silog(pred, gt):
    d = torch.log(pred) - torch.log(gt)
    return torch.sqrt((d ** 2).mean() - 0.85 * d.mean() ** 2) * 10.0


def train(args):
    model = nn.DataParallel(DepthModel(args))
    loader = DataLoader(IndoorDepth(8), batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    model.train()
    for epoch in range(2):
        for image, depth in loader:
            optimizer.zero_grad()
            loss = silog(model(image), depth)
            loss.backward()
            optimizer.step()
        print('epoch %d silog %.4f' % (epoch, loss.item()))
    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, args.checkpoint)


def test(args):
    model = nn.DataParallel(DepthModel(args))
    checkpoint = torch.load(args.checkpoint_path)
    model.load_state_dict(checkpoint['model'])
    model.eval()
    errors = []
    with torch.no_grad():
        for image, depth in DataLoader(IndoorDepth(4), batch_size=1):
            errors.append(F.l1_loss(model(image), depth).item())
    print('mean abs error %.3f' % (sum(errors) / len(errors)))


if __name__ == '__main__':
    torch.manual_seed(0)
    path = os.path.join(CKPT_DIR, 'model-nyu.pth')
    train(train_parser().parse_args(['--encoder', 'densenet121', '--checkpoint', path]))
    test(test_parser().parse_args(['--encoder', 'densenet121', '--checkpoint_path', path]))
