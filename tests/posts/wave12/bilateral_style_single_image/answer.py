import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms


def moments(feat, eps=1e-5):
    n, c, h, w = feat.shape
    flat = feat.reshape(n, c, h * w)
    return flat.mean(2).reshape(n, c, 1, 1), (flat.var(2) + eps).sqrt().reshape(n, c, 1, 1)


def adain(content, style):
    cm, cs = moments(content)
    sm, ss = moments(style)
    return (content - cm) / cs * ss + sm


class Encoder(nn.Module):
    def __init__(self, widths=(16, 32, 64)):
        super().__init__()
        blocks, cin = [], 3
        for w in widths:
            blocks.append(nn.Sequential(
                nn.ReflectionPad2d(1), nn.Conv2d(cin, w, 3), nn.ReLU(), nn.MaxPool2d(2)))
            cin = w
        self.blocks = nn.ModuleList(blocks)
        for p in self.parameters():
            p.requires_grad = False

    def encode(self, x):
        feats = []
        for block in self.blocks:
            x = block(x)
            feats.append(x)
        return feats


class GridNet(nn.Module):
    """low resolution features -> bilateral grid of affine colour transforms"""

    def __init__(self, depth=4):
        super().__init__()
        self.depth = depth
        self.merge1 = nn.Conv2d(32, 32, 3, padding=1)
        self.merge2 = nn.Conv2d(32 + 64, 64, 3, padding=1)
        self.head = nn.Conv2d(64, 12 * depth, 1)

    def forward(self, cont_feat, style_feat):
        a = F.relu(self.merge1(adain(cont_feat[1], style_feat[1])))
        b = adain(cont_feat[2], style_feat[2])
        x = torch.cat([F.avg_pool2d(a, 2), b], dim=1)
        x = self.head(F.relu(self.merge2(x)))
        return x.reshape(x.shape[0], 12, self.depth, x.shape[-2], x.shape[-1])


class StyleModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = GridNet()
        self.guide = nn.Sequential(nn.Conv2d(3, 16, 1), nn.ReLU(), nn.Conv2d(16, 1, 1), nn.Tanh())

    def forward(self, full, cont_feat, style_feat):
        coeffs = self.grid(cont_feat, style_feat)
        g = self.guide(full)
        b, _, H, W = g.shape
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, H), torch.linspace(-1, 1, W), indexing='ij')
        xy = torch.stack([xs, ys], dim=-1).expand(b, H, W, 2)
        where = torch.cat([xy, g.permute(0, 2, 3, 1)], dim=-1).unsqueeze(1)
        a = F.grid_sample(coeffs, where, align_corners=True).squeeze(2)
        a = a.reshape(b, 3, 4, H, W)
        return (a[:, :, :3] * full.unsqueeze(1)).sum(2) + a[:, :, 3]


class Pairs(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.rand(3, 64, 64), torch.rand(3, 64, 64)


def train(encoder, model, args):
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(Pairs(), batch_size=args.batch_size, shuffle=True)
    for step, (cont, style) in enumerate(loader):
        low_cont = F.interpolate(cont, scale_factor=0.5)
        low_style = F.interpolate(style, scale_factor=0.5)
        cf, sf = encoder.encode(low_cont), encoder.encode(low_style)
        out = model(cont, cf, sf)
        of = encoder.encode(F.interpolate(out, scale_factor=0.5))
        loss = F.mse_loss(of[-1], cf[-1])
        for o, s in zip(of, sf):
            om, os_ = moments(o)
            sm, ss = moments(s)
            loss = loss + F.mse_loss(om, sm) + F.mse_loss(os_, ss)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print('step', step, 'loss', round(loss.item(), 4))


def test(encoder, model, cont_path, style_path, out_path):
    transform = transforms.Compose([transforms.Resize((64, 64)), transforms.ToTensor()])
    small = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
    cont_img = Image.open(cont_path).convert('RGB')
    style_img = Image.open(style_path).convert('RGB')
    cont = transform(cont_img)
    low_cont = small(cont_img)
    low_style = small(style_img)

    model.eval()
    with torch.no_grad():
        cont_feat = encoder.encode(low_cont.unsqueeze(0))
        style_feat = encoder.encode(low_style.unsqueeze(0))
        out = model(cont.unsqueeze(0), cont_feat, style_feat)
    arr = (out[0].clamp(0, 1) * 255).byte().permute(1, 2, 0).numpy()
    Image.fromarray(arr).save(out_path)
    print('saved', out_path)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=1e-3)
    parser.add_argument('--batch_size', type=int, default=8)
    args = parser.parse_args()

    folder = tempfile.mkdtemp()
    for name in ('content.png', 'style.png'):
        pixels = np.random.randint(0, 255, (80, 100, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(os.path.join(folder, name))

    encoder, model = Encoder(), StyleModel()
    train(encoder, model, args)
    test(encoder, model, os.path.join(folder, 'content.png'), os.path.join(folder, 'style.png'),
         os.path.join(folder, 'output.png'))
