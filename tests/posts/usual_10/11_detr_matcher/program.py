# minimal DETR-style set prediction on synthetic boxes
import torch
import torch.nn as nn
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment

NUM_CLASSES = 3
NUM_QUERIES = 6
IMG = 48


def make_batch(bs, g):
    imgs = torch.zeros(bs, 3, IMG, IMG)
    targets = []
    for b in range(bs):
        n = int(torch.randint(1, 4, (1,), generator=g))
        labels = torch.randint(0, NUM_CLASSES, (n,), generator=g)
        wh = torch.rand(n, 2, generator=g) * 0.2 + 0.15
        c = torch.rand(n, 2, generator=g) * (1 - wh) + wh / 2
        for k in range(n):
            x0, y0 = ((c[k] - wh[k] / 2) * IMG).int().tolist()
            x1, y1 = ((c[k] + wh[k] / 2) * IMG).int().tolist()
            imgs[b, labels[k], y0:y1, x0:x1] = 1.0
        targets.append({"labels": labels, "boxes": torch.cat([c, wh], 1)})
    return imgs + 0.05 * torch.randn(imgs.shape, generator=g), targets


class HungarianMatcher(nn.Module):
    def __init__(self, w_class=1.0, w_bbox=5.0):
        super().__init__()
        self.w_class, self.w_bbox = w_class, w_bbox

    def forward(self, outputs, targets):
        bs, nq = outputs["pred_logits"].shape[:2]
        prob = outputs["pred_logits"].flatten(0, 1).softmax(-1)
        boxes = outputs["pred_boxes"].flatten(0, 1)
        tgt_ids = torch.cat([t["labels"] for t in targets])
        tgt_boxes = torch.cat([t["boxes"] for t in targets])
        cost_class = -prob[:, tgt_ids]
        cost_bbox = torch.cdist(boxes, tgt_boxes, p=1)
        C = (self.w_class * cost_class + self.w_bbox * cost_bbox).view(bs, nq, -1).cpu()
        sizes = [len(t["boxes"]) for t in targets]
        idx = [linear_sum_assignment(c[i]) for i, c in enumerate(C.split(sizes, -1))]
        return [(torch.as_tensor(i), torch.as_tensor(j)) for i, j in idx]


class SetCriterion(nn.Module):
    def __init__(self, matcher, eos_coef=0.1):
        super().__init__()
        self.matcher = matcher
        weight = torch.ones(NUM_CLASSES + 1)
        weight[-1] = eos_coef
        self.register_buffer("weight", weight)

    def forward(self, outputs, targets):
        indices = self.matcher(outputs, targets)
        logits = outputs["pred_logits"]
        tgt = torch.full(logits.shape[:2], NUM_CLASSES)
        src_b, tgt_b = [], []
        for b, (i, j) in enumerate(indices):
            tgt[b, i] = targets[b]["labels"][j]
            src_b.append(outputs["pred_boxes"][b, i])
            tgt_b.append(targets[b]["boxes"][j])
        loss_ce = F.cross_entropy(logits.transpose(1, 2), tgt, self.weight)
        loss_box = F.l1_loss(torch.cat(src_b), torch.cat(tgt_b), reduction="sum") / sum(map(len, tgt_b))
        return {"loss_ce": loss_ce, "loss_bbox": loss_box}


class MiniDETR(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(64, d, 3, 2, 1))
        self.pos = nn.Parameter(torch.randn((IMG // 8) ** 2, d) * 0.02)
        self.query = nn.Embedding(NUM_QUERIES, d)
        layer = nn.TransformerDecoderLayer(d, 4, 128, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(layer, 2)
        self.class_embed = nn.Linear(d, NUM_CLASSES + 1)
        self.bbox_embed = nn.Linear(d, 4)

    def forward(self, x):
        mem = self.backbone(x).flatten(2).transpose(1, 2) + self.pos
        q = self.query.weight.unsqueeze(0).expand(len(x), -1, -1)
        h = self.decoder(q, mem)
        return {"pred_logits": self.class_embed(h), "pred_boxes": self.bbox_embed(h).sigmoid()}


def train(steps=60):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    model, criterion = MiniDETR(), SetCriterion(HungarianMatcher())
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    model.train()
    for step in range(steps):
        imgs, targets = make_batch(16, g)
        losses = criterion(model(imgs), targets)
        total = losses["loss_ce"] + 5 * losses["loss_bbox"]
        opt.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        opt.step()
        if step % 20 == 0:
            print(step, {k: round(v.item(), 4) for k, v in losses.items()})


train()
