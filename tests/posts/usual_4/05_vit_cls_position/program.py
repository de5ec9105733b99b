# %% [markdown]
# # ViT from scratch on 32x32 images
# %%
import torch
from einops import rearrange
from einops.layers.torch import Rearrange
from torch import nn, einsum
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(1)

# %%
class FeedForward(nn.Sequential):
    def __init__(self, dim, hidden, p=0.):
        super().__init__(nn.LayerNorm(dim), nn.Linear(dim, hidden), nn.GELU(), nn.Dropout(p),
                         nn.Linear(hidden, dim), nn.Dropout(p))


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=16, p=0.):
        super().__init__()
        inner = heads * dim_head
        self.heads, self.scale = heads, dim_head ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, inner * 3, bias=False)
        self.drop = nn.Dropout(p)
        self.to_out = nn.Linear(inner, dim)

    def forward(self, x):
        q, k, v = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in (q, k, v))
        attn = (einsum("b h i d, b h j d -> b h i j", q, k) * self.scale).softmax(dim=-1)
        out = einsum("b h i j, b h j d -> b h i d", self.drop(attn), v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)"))


class ViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim, channels=3, dropout=0.1):
        super().__init__()
        assert image_size % patch_size == 0
        num_patches = (image_size // patch_size) ** 2
        patch_dim = channels * patch_size ** 2
        self.to_patch = nn.Sequential(
            Rearrange("b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=patch_size, p2=patch_size),
            nn.LayerNorm(patch_dim),
            nn.Linear(patch_dim, dim),
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches, dim) * 0.02)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            [nn.ModuleList([Attention(dim, heads, dim // heads, dropout), FeedForward(dim, mlp_dim, dropout)])
             for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, img):
        x = self.to_patch(img)
        cls = self.cls_token.expand(x.shape[0], -1, -1)
        x = torch.cat((cls, x), dim=1)
        x = self.drop(x + self.pos_embedding)
        for attn, ff in self.blocks:
            x = x + attn(x)
            x = x + ff(x)
        return self.head(x[:, 0])

# %%
y = torch.randint(0, 10, (320,))
X = torch.randn(320, 3, 32, 32) * 0.5
for i in range(320):
    r = int(y[i]) * 3
    X[i, :, r:r + 3] += 1.5
ds_train, ds_test = TensorDataset(X[:256], y[:256]), TensorDataset(X[256:], y[256:])

# %%
vit = ViT(image_size=32, patch_size=4, num_classes=10, dim=64, depth=3, heads=4, mlp_dim=128)
optim = torch.optim.AdamW(vit.parameters(), lr=1e-3, weight_decay=0.05)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=4)
ce = nn.CrossEntropyLoss(label_smoothing=0.1)

for epoch in range(4):
    vit.train()
    for xb, yb in DataLoader(ds_train, batch_size=32, shuffle=True):
        loss = ce(vit(xb), yb)
        optim.zero_grad()
        loss.backward()
        optim.step()
    sched.step()
    vit.eval()
    with torch.no_grad():
        ok = sum((vit(xb).argmax(-1) == yb).sum().item() for xb, yb in DataLoader(ds_test, batch_size=64))
    print(epoch, "last loss", round(loss.item(), 3), "test acc", ok / len(ds_test))
