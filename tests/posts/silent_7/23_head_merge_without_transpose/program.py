import torch
import torch.nn as nn
import torch.nn.functional as F

GRID, PATCH = 4, 4
KINDS = GRID * GRID // 2
SIDE = GRID * PATCH


def satellite_tiles(n, seed):
    """Each texture lies in two patches of a tile; tag a patch by whether its twin is the bright kind."""
    g = torch.Generator().manual_seed(seed)
    textures = torch.randn(KINDS, PATCH, PATCH, generator=torch.Generator().manual_seed(55))
    ids = (torch.rand(n, GRID * GRID, generator=g).argsort(dim=1) % KINDS)
    bright = torch.randint(0, 2, ids.shape, generator=g).float()
    same = (ids[:, :, None] == ids[:, None, :]).float() - torch.eye(GRID * GRID)
    labels = (same @ bright[:, :, None]).squeeze(-1)
    patches = textures[ids] + 1.5 * (bright - 0.5)[:, :, None, None]
    tiles = patches.view(n, GRID, GRID, PATCH, PATCH).permute(0, 1, 3, 2, 4).reshape(n, 1, SIDE, SIDE)
    return tiles + 0.1 * torch.randn(tiles.shape, generator=g), labels


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).view(b, n, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5).softmax(dim=-1)
        out = weights @ v
        return self.proj(out.reshape(b, n, c))


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class PatchTagger(nn.Module):
    def __init__(self, dim=48, heads=4, depth=2):
        super().__init__()
        self.patchify = nn.Conv2d(1, dim, PATCH, stride=PATCH)
        self.position = nn.Parameter(0.1 * torch.randn(1, GRID * GRID, dim))
        self.layers = nn.Sequential(*[Layer(dim, heads) for _ in range(depth)])
        self.tag = nn.Linear(dim, 1)

    def forward(self, tiles):
        x = self.patchify(tiles).flatten(2).transpose(1, 2) + self.position
        return self.tag(self.layers(x)).squeeze(-1)


@torch.no_grad()
def accuracy(model, tiles, labels):
    model.eval()
    return ((model(tiles) > 0).float() == labels).float().mean().item()


torch.manual_seed(0)
train_x, train_y = satellite_tiles(1500, seed=0)
test_x, test_y = satellite_tiles(300, seed=1)
model = PatchTagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    total = 0.0
    for rows in torch.randperm(len(train_x)).split(50):
        loss = F.binary_cross_entropy_with_logits(model(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1:2d}  loss {total / 30:.4f}  acc {accuracy(model, test_x, test_y):.3f}")
