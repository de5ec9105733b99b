import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskAttentionMap(nn.Module):
    """Attention of the queries over the feature map, without the values."""

    def __init__(self, dim, num_heads=4):
        super().__init__()
        self.num_heads = num_heads
        self.q_linear = nn.Linear(dim, dim)
        self.k_linear = nn.Linear(dim, dim)
        self.scale = (dim / num_heads) ** -0.5

    def forward(self, q, k):
        b, n, c = q.shape
        h, w = k.shape[2:]
        q = self.q_linear(q).view(b, n, self.num_heads, c // self.num_heads)
        k = F.conv2d(k, self.k_linear.weight[:, :, None, None], self.k_linear.bias)
        k = k.view(b, self.num_heads, c // self.num_heads, h, w)
        weights = torch.einsum('bqnc,bnchw->bqnhw', q * self.scale, k)
        return F.softmax(weights.flatten(2), dim=-1).view(weights.size())


class TripletHead(nn.Module):
    """Predicts classes and masks of the subject of every relation query."""

    def __init__(self, num_classes=20, num_query=100, dim=64, num_heads=4):
        super().__init__()
        self.num_query = num_query
        self.backbone = nn.Sequential(
            nn.Conv2d(3, dim // 2, 7, stride=4, padding=3), nn.ReLU(),
            nn.Conv2d(dim // 2, dim, 3, stride=4, padding=1), nn.ReLU())
        self.query_embed = nn.Embedding(num_query, dim)
        self.decoder = nn.TransformerDecoderLayer(dim, num_heads, 2 * dim, dropout=0.0)
        self.sub_cls = nn.Linear(dim, num_classes + 1)
        self.sub_attn = MaskAttentionMap(dim, num_heads)
        self.sub_mask = nn.Sequential(nn.Conv2d(num_heads, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))

    def forward(self, img):
        feat = self.backbone(img)
        bs, c, h, w = feat.shape
        memory = feat.flatten(2).permute(2, 0, 1)                          # hw, bs, c
        query = self.query_embed.weight.unsqueeze(1).repeat(1, bs, 1)      # num_query, bs, c
        hs = self.decoder(query, memory)                                   # num_query, bs, c
        hs = hs.permute(1, 0, 2)
        classes = self.sub_cls(hs)
        maps = self.sub_attn(hs, feat)
        masks = self.sub_mask(maps.flatten(0, 1)).view(bs, self.num_query, h, w)
        return classes, masks
