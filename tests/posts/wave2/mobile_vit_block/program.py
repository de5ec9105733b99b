import torch
import torch.nn as nn
from einops import rearrange


def conv_nxn_bn(inp, oup, kernel_size=3, stride=1):
    return nn.Sequential(nn.Conv2d(inp, oup, kernel_size, stride, kernel_size // 2, bias=False),
                         nn.BatchNorm2d(oup), nn.SiLU())


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8):
        super().__init__()
        self.heads, self.scale = heads, dim_head ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, heads * dim_head * 3, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim)

    def forward(self, x):
        q, k, v = map(lambda t: rearrange(t, 'b p n (h d) -> b p h n d', h=self.heads),
                      self.to_qkv(self.norm(x)).chunk(3, dim=-1))
        attn = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        out = torch.matmul(attn.softmax(dim=-1), v)
        return self.to_out(rearrange(out, 'b p h n d -> b p n (h d)'))


class MobileViTBlock(nn.Module):
    def __init__(self, dim, depth, channel, patch_size=(2, 2)):
        super().__init__()
        self.ph, self.pw = patch_size
        self.conv_in = nn.Sequential(conv_nxn_bn(channel, channel), conv_nxn_bn(channel, dim, 1))
        self.attn = nn.ModuleList([Attention(dim) for _ in range(depth)])
        self.ff = nn.ModuleList([nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.SiLU(),
                                               nn.Linear(dim * 2, dim)) for _ in range(depth)])
        self.conv_out = conv_nxn_bn(dim, channel, 1)
        self.fuse = conv_nxn_bn(2 * channel, channel)

    def forward(self, x):
        y = x.clone()
        x = self.conv_in(x)
        _, _, h, w = x.shape
        x = rearrange(x, 'b d (h ph) (w pw) -> b (ph pw) (h w) d', ph=self.ph, pw=self.pw)
        for attn, ff in zip(self.attn, self.ff):
            x = x + attn(x)
            x = x + ff(x)
        x = rearrange(x, 'b (ph pw) (h w) d -> b d (h ph) (w pw)',
                      h=h // self.ph, w=w // self.pw, ph=self.ph, pw=self.pw)
        return self.fuse(torch.cat((self.conv_out(x), y), 1))


class Backbone(nn.Module):
    """three feature maps for the detector: strides 8, 16 and 32"""

    def __init__(self, channels=(16, 32, 64, 96)):
        super().__init__()
        c0, c1, c2, c3 = channels
        self.stem = nn.Sequential(conv_nxn_bn(3, c0, stride=2), conv_nxn_bn(c0, c0, stride=2))
        self.down1, self.mvit1 = conv_nxn_bn(c0, c1, stride=2), MobileViTBlock(64, 2, c1)
        self.down2, self.mvit2 = conv_nxn_bn(c1, c2, stride=2), MobileViTBlock(80, 2, c2)
        self.down3, self.mvit3 = conv_nxn_bn(c2, c3, stride=2), MobileViTBlock(96, 1, c3)

    def forward(self, x):
        x = self.stem(x)
        p3 = self.mvit1(self.down1(x))
        p4 = self.mvit2(self.down2(p3))
        p5 = self.mvit3(self.down3(p4))
        return p3, p4, p5
