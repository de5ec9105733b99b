import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from PIL import Image
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms

TRAIN_SIZE = 256


def cut_views(x):
    return rearrange(x, 'n c (rows y) (cols x) -> (rows cols n) c y x', rows=2, cols=2)


def join_views(x):
    return rearrange(x, '(rows cols n) c y x -> n c (rows y) (cols x)', rows=2, cols=2)


def conv_block(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1), nn.BatchNorm2d(cout), nn.PReLU())


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.stage1 = conv_block(3, dim // 2, 2)
        self.stage2 = conv_block(dim // 2, dim, 2)

    def forward(self, x):
        s1 = self.stage1(x)
        return s1, self.stage2(s1)


class Refine(nn.Module):
    """every close-up view looks at its own part of the distant view"""

    def __init__(self, dim, heads=4, pool=4):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.sal = nn.Conv2d(dim, 1, 1)
        self.pool = pool

    def forward(self, loc, glb):
        parts = cut_views(glb)
        keys = F.adaptive_avg_pool2d(parts, self.pool)
        keys = rearrange(keys, 'n c h w -> n (h w) c')
        h, w = loc.shape[-2:]
        q = rearrange(loc, 'n c h w -> n (h w) c')
        out, _ = self.attention(q, keys, keys, need_weights=False)
        src = self.norm(q + out)
        src = rearrange(src, 'n (h w) c -> n c h w', h=h, w=w)
        att = torch.sigmoid(self.sal(glb))
        return src, att


class MultiViewNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.encoder = Encoder(dim)
        self.refine = Refine(dim)
        self.fuse = conv_block(dim + dim // 2, dim)
        self.out = nn.Conv2d(dim, 1, 3, padding=1)

    def forward(self, x):
        glb = F.interpolate(x, scale_factor=0.5, mode='bilinear')
        loc = cut_views(x)
        l1, l2 = self.encoder(loc)
        _, g2 = self.encoder(glb)
        src, att = self.refine(l2, g2)
        up = F.interpolate(src, size=l1.shape[-2:], mode='bilinear')
        whole = join_views(self.fuse(torch.cat([up, l1], dim=1)))
        final = F.interpolate(self.out(whole), size=x.shape[-2:], mode='bilinear')
        return final, att


class Synthetic(Dataset):
    def __init__(self, n=4):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        img = torch.rand(3, TRAIN_SIZE, TRAIN_SIZE) * 0.3
        mask = torch.zeros(1, TRAIN_SIZE, TRAIN_SIZE)
        y, x = torch.randint(20, 150, (2,)).tolist()
        mask[:, y:y + 80, x:x + 80] = 1
        return img + 0.6 * mask, mask


def train(net, epochs=2):
    loader = DataLoader(Synthetic(), batch_size=1, shuffle=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.train()
    for epoch in range(epochs):
        for img, mask in loader:
            final, att = net(img)
            loss = F.binary_cross_entropy_with_logits(final, mask)
            small = F.interpolate(mask, size=att.shape[-2:])
            loss = loss + 0.3 * F.binary_cross_entropy(att, small)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f'epoch {epoch} loss {loss.item():.4f}')


def predict(net, path, save_to):
    transform = transforms.Compose([
        transforms.Resize((TRAIN_SIZE, TRAIN_SIZE)),
        transforms.ToTensor(),
    ])
    img = Image.open(path).convert('RGB')
    x = transform(img).unsqueeze(0)
    print('input', tuple(x.shape))
    net.eval()
    with torch.no_grad():
        final, _ = net(x)
    prob = F.interpolate(torch.sigmoid(final), size=img.size[::-1], mode='bilinear')[0, 0]
    Image.fromarray((prob.numpy() * 255).astype(np.uint8)).save(save_to)
    print('mask saved to', save_to)


if __name__ == '__main__':
    torch.manual_seed(0)
    net = MultiViewNet()
    train(net)

    folder = tempfile.mkdtemp()
    photo = os.path.join(folder, 'photo.png')
    Image.fromarray(np.random.randint(0, 255, (216, 320, 3), dtype=np.uint8)).save(photo)
    predict(net, photo, os.path.join(folder, 'mask.png'))
