import torch
from torch import nn


class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, embed_dims):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.projection = nn.Conv2d(3, embed_dims, patch_size, patch_size)

    def forward(self, x):
        b, c, t, h, w = x.shape
        x = x.permute(0, 2, 1, 3, 4).reshape(b * t, c, h, w)
        return self.projection(x).flatten(2).transpose(1, 2)


class Block(nn.Module):
    """divided attention: over the frames first, over the patches after"""

    def __init__(self, embed_dims, num_heads, num_frames, drop=0.1):
        super().__init__()
        self.num_frames = num_frames
        self.norms = nn.ModuleList([nn.LayerNorm(embed_dims) for _ in range(3)])
        self.temporal = nn.MultiheadAttention(embed_dims, num_heads, dropout=drop, batch_first=True)
        self.temporal_fc = nn.Linear(embed_dims, embed_dims)
        self.spatial = nn.MultiheadAttention(embed_dims, num_heads, dropout=drop, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(embed_dims, 2 * embed_dims), nn.GELU(), nn.Linear(2 * embed_dims, embed_dims))
        nn.init.zeros_(self.temporal_fc.weight)
        nn.init.zeros_(self.temporal_fc.bias)

    def forward(self, x):
        bt, p, c = x.shape
        b, t = bt // self.num_frames, self.num_frames
        y = self.norms[0](x).view(b, t, p, c).transpose(1, 2).reshape(b * p, t, c)
        y = self.temporal(y, y, y, need_weights=False)[0]
        y = self.temporal_fc(y).view(b, p, t, c).transpose(1, 2).reshape(bt, p, c)
        x = x + y
        y = self.norms[1](x)
        x = x + self.spatial(y, y, y, need_weights=False)[0]
        return x + self.ffn(self.norms[2](x))


class TimeSformer(nn.Module):
    def __init__(self, num_frames, img_size, patch_size, embed_dims=768, num_heads=12,
                 num_transformer_layers=2, num_classes=5):
        super().__init__()
        self.num_frames = num_frames
        self.patch_embed = PatchEmbed(img_size, patch_size, embed_dims)
        self.pos_embed = nn.Parameter(torch.zeros(1, self.patch_embed.num_patches, embed_dims))
        self.time_embed = nn.Parameter(torch.zeros(1, num_frames, 1, embed_dims))
        self.layers = nn.ModuleList(
            [Block(embed_dims, num_heads, num_frames) for _ in range(num_transformer_layers)])
        self.norm = nn.LayerNorm(embed_dims)
        self.head = nn.Linear(embed_dims, num_classes)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)

    def forward(self, clips):
        x = self.patch_embed(clips) + self.pos_embed
        bt, p, c = x.shape
        x = (x.view(-1, self.num_frames, p, c) + self.time_embed).reshape(bt, p, c)
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x).view(-1, self.num_frames * p, c).mean(1)
        return self.head(x)


def moving_square(label, frames, size):
    clip = torch.zeros(3, frames, size, size)
    for t in range(frames):
        at = 4 + t * (label + 1) % (size - 12)
        clip[:, t, at:at + 8, 8:16] = 1.0
    return clip + 0.1 * torch.randn_like(clip)


def main():
    torch.manual_seed(0)
    frames, size = 4, 64
    timesformer = TimeSformer(frames, size, 16, embed_dims=1024, num_heads=16)
    optimizer = torch.optim.SGD(timesformer.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-4)
    loss_fn = nn.CrossEntropyLoss()
    for it in range(4):
        labels = torch.randint(0, 5, (4,))
        clips = torch.stack([moving_square(int(l), frames, size) for l in labels])
        loss = loss_fn(timesformer(clips), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(timesformer.parameters(), 40)
        optimizer.step()
        print('iter', it, 'loss %.4f' % loss.item())


if __name__ == '__main__':
    main()
