import torch
import torch.nn as nn
import torch.nn.functional as F


class CenterHead(nn.Module):
    def __init__(self, dim, num_cls, dropout):
        super().__init__()
        self.cls = self.build(dim, num_cls + 1, dropout)
        self.center = self.build(dim, 3, dropout)
        self.size = self.build(dim, 3, dropout)

    @staticmethod
    def build(dim, out_dim, dropout):
        return nn.Sequential(
            nn.Conv1d(dim, dim, 1, bias=False), nn.BatchNorm1d(dim), nn.ReLU(), nn.Dropout(dropout),
            nn.Conv1d(dim, out_dim, 1))

    def forward(self, x):
        return self.cls(x).transpose(1, 2), self.center(x).transpose(1, 2), self.size(x).sigmoid().transpose(1, 2)


class DecoderLayer(nn.Module):
    def __init__(self, dim, nhead=4, ff=128, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(dim, nhead, dropout=dropout)
        self.cross_attn = nn.MultiheadAttention(dim, nhead, dropout=dropout)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.dropout3 = nn.Dropout(dropout)
        self.linear1 = nn.Linear(dim, ff)
        self.dropout = nn.Dropout(dropout, inplace=True)
        self.linear2 = nn.Linear(ff, dim)
        self.activation = F.relu

    def forward(self, tgt, memory, query_pos, memory_pos):
        x = self.norm1(tgt)
        q = k = x + query_pos
        tgt = tgt + self.dropout1(self.self_attn(q, k, x)[0])
        x = self.norm2(tgt)
        tgt = tgt + self.dropout2(self.cross_attn(x + query_pos, memory + memory_pos, memory)[0])
        x = self.norm3(tgt)
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return tgt + self.dropout3(x)


class PointDetector(nn.Module):
    def __init__(self, num_cls=4, dim=64, num_queries=16, depth=2):
        super().__init__()
        self.num_queries = num_queries
        self.point_mlp = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.pos_mlp = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.decoder = nn.ModuleList([DecoderLayer(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = CenterHead(dim, num_cls, 0.3)

    def forward(self, xyz):
        feats = self.point_mlp(xyz).transpose(0, 1)
        pos = self.pos_mlp(xyz).transpose(0, 1)
        pick = torch.randperm(xyz.size(1))[: self.num_queries]
        query_xyz = xyz[:, pick]
        query_pos = self.pos_mlp(query_xyz).transpose(0, 1)
        tgt = torch.zeros_like(query_pos)
        for layer in self.decoder:
            tgt = layer(tgt, feats, query_pos, pos)
        logits, offset, size = self.head(self.norm(tgt).permute(1, 2, 0))
        return logits, query_xyz + offset, size


def make_scene(batch, n_points=256, n_obj=3):
    centers = torch.rand(batch, n_obj, 3) * 4 - 2
    sizes = torch.rand(batch, n_obj, 3) * 0.5 + 0.2
    labels = torch.randint(0, 4, (batch, n_obj))
    owner = torch.randint(0, n_obj, (batch, n_points))
    idx = owner.unsqueeze(-1).expand(-1, -1, 3)
    pts = centers.gather(1, idx) + (torch.rand(batch, n_points, 3) - 0.5) * sizes.gather(1, idx)
    return pts, centers, sizes, labels


def criterion(logits, center, size, gt_center, gt_size, gt_label):
    dist = torch.cdist(center.detach(), gt_center)
    near, match = dist.min(-1)
    idx = match.unsqueeze(-1).expand(-1, -1, 3)
    target = gt_label.gather(1, match)
    target[near > 1.5] = 4
    loss_cls = F.cross_entropy(logits.flatten(0, 1), target.flatten())
    loss_center = F.l1_loss(center, gt_center.gather(1, idx))
    loss_size = F.l1_loss(size, gt_size.gather(1, idx))
    return loss_cls + 5 * loss_center + loss_size


def main():
    torch.manual_seed(0)
    model = PointDetector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.1)
    model.train()
    for it in range(30):
        pts, gt_center, gt_size, gt_label = make_scene(8)
        logits, center, size = model(pts)
        loss = criterion(logits, center, size, gt_center, gt_size, gt_label)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        if it % 10 == 0:
            print(f"iter {it}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
