import torch
import torch.nn as nn
import torch.nn.functional as F


def tile_images(n, tiles, size=24, patch=8, seed=0):
    """every image is noise with one of the known tiles in some cell of the 3 x 3 grid"""
    g = torch.Generator().manual_seed(seed)
    img = torch.randn(n, 3, size, size, generator=g)
    label = torch.randint(0, len(tiles), (n,), generator=g)
    cells = size // patch
    place = torch.randint(0, cells * cells, (n,), generator=g)
    for i in range(n):
        r, c = divmod(place[i].item(), cells)
        img[i, :, r * patch:(r + 1) * patch, c * patch:(c + 1) * patch] += tiles[label[i]]
    return img, label


class PatchEmbedding(nn.Module):
    def __init__(self, img_size, patch_size, in_channels, embed_dim):
        super().__init__()
        self.patch_size = patch_size
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Linear(in_channels * patch_size * patch_size, embed_dim)

    def forward(self, x):
        B, C, H, W = x.shape
        patches = x.view(B, self.num_patches, -1)
        return self.proj(patches)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, img_size=24, patch_size=8, n_classes=6, dim=32, depth=2, heads=4):
        super().__init__()
        self.embed = PatchEmbedding(img_size, patch_size, 3, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, self.embed.num_patches, dim))
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.embed(x) + self.pos
        x = self.norm(self.blocks(x))
        return self.head(x.mean(dim=1))


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    correct = (model(images).argmax(dim=1) == labels).float().mean().item()
    model.train()
    return correct


def main():
    torch.manual_seed(0)
    tiles = torch.randn(6, 3, 8, 8)
    train_x, train_y = tile_images(768, tiles, seed=1)
    test_x, test_y = tile_images(256, tiles, seed=2)

    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(10):
        total = 0.0
        for idx in torch.randperm(len(train_x)).split(64):
            loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print('epoch %2d loss %.3f test acc %.3f'
              % (epoch + 1, total / len(train_x), accuracy(model, test_x, test_y)))

    cells = model.embed(test_x[:1])
    print('tokens', tuple(cells.shape))


if __name__ == '__main__':
    main()
