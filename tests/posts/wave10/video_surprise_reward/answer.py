import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class VideoEncoder(nn.Module):
    def __init__(self, dim=96, depth=2, heads=4, frames=8, size=32, tubelet=2, patch=8):
        super().__init__()
        self.patch_embed = nn.Conv3d(3, dim, kernel_size=(tubelet, patch, patch), stride=(tubelet, patch, patch))
        self.num_patches = (frames // tubelet) * (size // patch) ** 2
        self.pos_embed = nn.Parameter(torch.randn(1, self.num_patches, dim) * 0.02)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, clip, masks=None):
        x = self.patch_embed(clip).flatten(2).transpose(1, 2) + self.pos_embed
        if masks is not None:
            x = x[:, masks]
        for blk in self.blocks:
            x = blk(x)
        return self.norm(x)


class Predictor(nn.Module):
    def __init__(self, num_patches, dim=96, pred_dim=48, depth=2, heads=4):
        super().__init__()
        self.embed = nn.Linear(dim, pred_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, pred_dim))
        self.pos_embed = nn.Parameter(torch.randn(1, num_patches, pred_dim) * 0.02)
        self.blocks = nn.ModuleList([Block(pred_dim, heads) for _ in range(depth)])
        self.proj = nn.Linear(pred_dim, dim)

    def forward(self, z, masks_enc, masks_pred):
        b = z.size(0)
        x = self.embed(z) + self.pos_embed[:, masks_enc]
        t = self.mask_token.expand(b, len(masks_pred), -1) + self.pos_embed[:, masks_pred]
        x = torch.cat([x, t], dim=1)
        for blk in self.blocks:
            x = blk(x)
        return self.proj(x[:, -len(masks_pred):])


def surprise(encoder, target_encoder, predictor, clip, context=2):
    per_step = encoder.num_patches // 4
    masks_enc = torch.arange(context * per_step)
    masks_pred = torch.arange(context * per_step, encoder.num_patches)
    with torch.no_grad():
        h = target_encoder(clip)
        h = [F.layer_norm(h[:, masks_pred], (h.size(-1),))]
    z = predictor(encoder(clip, masks_enc), masks_enc, masks_pred)
    loss = 1 - F.cosine_similarity(z, h[0], dim=-1).mean()
    return loss


clips = torch.randn(32, 3, 8, 32, 32)
loader = DataLoader(TensorDataset(clips), batch_size=8, shuffle=True)
encoder = VideoEncoder()
target_encoder = VideoEncoder()
target_encoder.load_state_dict(encoder.state_dict())
for p in target_encoder.parameters():
    p.requires_grad = False
predictor = Predictor(encoder.num_patches)
optimizer = torch.optim.AdamW(list(encoder.parameters()) + list(predictor.parameters()), lr=1e-4)

for epoch in range(2):
    for (clip,) in loader:
        loss = surprise(encoder, target_encoder, predictor, clip)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for q, k in zip(encoder.parameters(), target_encoder.parameters()):
                k.mul_(0.998).add_(q, alpha=0.002)
    print(f'epoch {epoch} loss {loss.item():.4f}')

with torch.no_grad():
    candidates = torch.randn(4, 3, 8, 32, 32)
    rewards = [-surprise(encoder, target_encoder, predictor, c.unsqueeze(0)).item() for c in candidates]
print('best candidate', rewards.index(max(rewards)), rewards)
