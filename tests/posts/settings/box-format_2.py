# line 29: the GIoU loss gets predicted (cx, cy, w, h) boxes as if they were corners; they are converted only for the drawing
import torch
import torch.nn as nn
from torchvision.ops import box_convert, generalized_box_iou_loss


class QueryDetector(nn.Module):
    def __init__(self, queries=3, d=32):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, d))
        self.inp = nn.Linear(16, d)
        self.dec = nn.MultiheadAttention(d, 4, batch_first=True)
        self.box = nn.Linear(d, 4)

    def forward(self, feats):
        mem = self.inp(feats)
        q, _ = self.dec(self.queries.expand(len(feats), -1, -1), mem, mem)
        return self.box(q).sigmoid()


class DetectionModule:
    def __init__(self):
        self.net = QueryDetector()
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=2e-3)

    def compute_loss(self, out, gt):
        gt_corners = box_convert(gt.flatten(0, 1), "cxcywh", "xyxy")
        l1 = nn.functional.l1_loss(out, gt)
        giou = generalized_box_iou_loss(out.flatten(0, 1), gt_corners, reduction="mean")
        return 5 * l1 + 2 * giou

    def step(self, feats, gt):
        loss = self.compute_loss(self.net(feats), gt)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def draw(self, feats, side=640):
        self.net.eval()
        return (box_convert(self.net(feats), "cxcywh", "xyxy") * side).round()


torch.manual_seed(0)
task = DetectionModule()
for it in range(60):
    gt = torch.rand(16, 3, 4) * 0.3 + 0.3
    feats = torch.cat([gt, gt.pow(2), torch.randn(16, 3, 8) * 0.1], dim=-1)
    last = task.step(feats, gt)
print(last, task.draw(feats)[0].tolist())
