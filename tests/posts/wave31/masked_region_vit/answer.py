import torch
import torch.nn.functional as F
from torch import nn
from einops import rearrange

MIN_NUM_PATCHES = 4


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(x, **kwargs) + x


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs)


class MLPBlock(nn.Module):
    def __init__(self, dim, hidden, dropout=0.1):
        super().__init__()
        self.nn1 = nn.Linear(dim, hidden)
        self.nn2 = nn.Linear(hidden, dim)
        self.do = nn.Dropout(dropout)

    def forward(self, x):
        return self.do(self.nn2(self.do(F.gelu(self.nn1(x)))))


class Attention(nn.Module):
    def __init__(self, dim, heads=8, dropout=0.1):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.out = nn.Linear(dim, dim)
        self.do = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        q, k, v = rearrange(self.to_qkv(x), "b n (qkv h d) -> qkv b h n d", qkv=3, h=self.heads)
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale

        if mask is not None:
            mask = F.pad(mask.flatten(1), (1, 0), value=True)
            assert mask.shape[-1] == dots.shape[-1], "mask does not fit the tokens"
            mask = mask[:, None, None, :] * mask[:, None, :, None]
            dots.masked_fill_(~mask, -1e9)
            del mask

        attn = dots.softmax(dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.do(self.out(rearrange(out, "b h n d -> b n (h d)")))


class Transformer(nn.Module):
    def __init__(self, dim, depth, heads, mlp_dim, dropout):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.ModuleList([
                Residual(PreNorm(dim, Attention(dim, heads, dropout))),
                Residual(PreNorm(dim, MLPBlock(dim, mlp_dim, dropout))),
            ])
            for _ in range(depth)
        ])

    def forward(self, x, mask=None):
        for attention, mlp in self.layers:
            x = attention(x, mask=mask)
            x = mlp(x)
        return x


class RegionTransformer(nn.Module):
    def __init__(self, feat_dim, max_regions, num_classes, dim=40, depth=2, heads=5, mlp_dim=80, dropout=0.1):
        super().__init__()
        assert max_regions >= MIN_NUM_PATCHES
        self.embed = nn.Linear(feat_dim, dim)
        self.pos_embedding = nn.Parameter(torch.randn(1, max_regions + 1, dim) * 0.02)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.transformer = Transformer(dim, depth, heads, mlp_dim, dropout)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, regions, mask=None):
        x = self.embed(regions)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        x = self.transformer(x + self.pos_embedding, mask)
        return self.head(x[:, 0])


def make_batch(batch_size, max_regions, feat_dim):
    count = torch.randint(2, max_regions + 1, (batch_size,))
    mask = torch.arange(max_regions)[None] < count[:, None]
    label = torch.randint(0, 4, (batch_size,))
    regions = torch.randn(batch_size, max_regions, feat_dim) * 0.5
    regions[:, :, 0] += label[:, None].float()
    return regions, mask, label


if __name__ == "__main__":
    torch.manual_seed(1)
    model = RegionTransformer(feat_dim=24, max_regions=9, num_classes=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for it in range(40):
        regions, mask, label = make_batch(16, 9, 24)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(regions, mask), label)
        loss.backward()
        optimizer.step()
        if it % 10 == 0:
            print("iter %d loss %.4f" % (it, loss.item()))
