import torch
import torch.nn as nn
import torch.nn.functional as F


def window_mask(height, width, radius):
    y = torch.arange(height)
    x = torch.arange(width)
    near_y = (y[:, None] - y[None]).abs() <= radius
    near_x = (x[:, None] - x[None]).abs() <= radius
    return (near_y[:, None, :, None] & near_x[None, :, None, :]).reshape(height * width, height * width)


def na2d_scores(q, k, radius):
    """q and k are [B, heads, H, W, dim]; scores of each position to its neighbours"""
    B, n, H, W, d = q.shape
    s = q.reshape(B, n, H * W, d) @ k.reshape(B, n, H * W, d).transpose(-2, -1)
    return s.masked_fill(~window_mask(H, W, radius), float('-inf'))


def na2d_values(attn, v):
    B, n, H, W, d = v.shape
    return (attn @ v.reshape(B, n, H * W, d)).reshape(B, n, H, W, d)


def na2d_fused(q, k, v, radius):
    """q, k and v are [B, H, W, heads, dim]"""
    B, H, W, n, d = q.shape
    q, k, v = (t.permute(0, 3, 1, 2, 4).reshape(B, n, H * W, d) for t in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=window_mask(H, W, radius))
    return out.reshape(B, n, H, W, d).permute(0, 2, 3, 1, 4)


class NeighborhoodAttention(nn.Module):
    def __init__(self, dim, heads, radius, fused):
        super().__init__()
        self.heads, self.head_dim, self.radius, self.fused = heads, dim // heads, radius, fused
        self.scale = self.head_dim ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, H, W, C = x.shape
        qkv = self.qkv(x).reshape(B, H, W, 3, self.heads, self.head_dim)
        if self.fused:
            q, k, v = qkv.permute(3, 0, 1, 2, 4, 5)
            x = na2d_fused(q, k, v, self.radius)
        else:
            q, k, v = qkv.permute(3, 0, 1, 2, 4, 5)
            attn = na2d_scores(q * self.scale, k, self.radius).softmax(dim=-1)
            x = na2d_values(attn, v).permute(0, 2, 3, 1, 4)
        return self.proj(x.reshape(B, H, W, C))


class Net(nn.Module):
    def __init__(self, dim=32, heads=4, radius=1, fused=False, classes=3):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 2, stride=2)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = NeighborhoodAttention(dim, heads, radius, fused)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.patch(img).permute(0, 2, 3, 1)
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x.mean(dim=(1, 2)))


def stripes(n, size=16):
    kind = torch.randint(0, 3, (n,))
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    waves = torch.stack([torch.sin(0.8 * yy), torch.sin(0.8 * xx), torch.sin(0.55 * (yy + xx))])
    return (waves[kind] + 0.5 * torch.randn(n, size, size)).unsqueeze(1), kind


def main():
    torch.manual_seed(0)
    net = Net(fused=False)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(120):
        img, kind = stripes(32)
        loss = F.cross_entropy(net(img), kind)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print('step %d loss %.3f' % (step, loss.item()))

    fused = Net(fused=True)
    fused.load_state_dict(net.state_dict())
    img, kind = stripes(256)
    with torch.no_grad():
        a, b = net(img), fused(img)
    for name, out in (('unfused', a), ('fused', b)):
        print('%s accuracy %.3f' % (name, (out.argmax(1) == kind).float().mean().item()))
    print('largest difference of the logits %.5f' % (a - b).abs().max().item())


if __name__ == '__main__':
    main()
