"""The demonstration of DETR: learned rows and columns of positions."""

import torch
from torch import nn


class DETR(nn.Module):
    def __init__(self, num_classes=5, hidden_dim=16, nheads=2, queries=6):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 4, stride=4)
        self.conv = nn.Conv2d(8, hidden_dim, 1)
        self.transformer = nn.Transformer(
            hidden_dim, nheads, 1, 1, dim_feedforward=16, dropout=0.0
        )
        self.linear_class = nn.Linear(hidden_dim, num_classes + 1)
        self.linear_bbox = nn.Linear(hidden_dim, 4)
        self.query_pos = nn.Parameter(torch.rand(queries, hidden_dim))
        self.row_embed = nn.Parameter(torch.rand(12, hidden_dim // 2))
        self.col_embed = nn.Parameter(torch.rand(12, hidden_dim // 2))

    def forward(self, inputs):
        x = self.backbone(inputs)
        h = self.conv(x)
        H, W = h.shape[-2:]
        columns = self.col_embed[:W].unsqueeze(0).repeat(H, 1, 1)
        rows = self.row_embed[:H].unsqueeze(1).repeat(1, W, 1)
        pos = torch.cat([columns, rows], dim=-1).flatten(0, 1).unsqueeze(1)
        src = pos + 0.1 * h.flatten(2).permute(2, 0, 1)
        tgt = self.query_pos.unsqueeze(1).repeat(1, src.shape[1], 1)
        h = self.transformer(src, tgt).transpose(0, 1)
        return {
            "pred_logits": self.linear_class(h),
            "pred_boxes": self.linear_bbox(h).sigmoid(),
        }
