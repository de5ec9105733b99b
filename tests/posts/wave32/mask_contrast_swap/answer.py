import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def soft_cross_entropy(logits, labels, weight):
    """Cross entropy against a soft target, one weight per mask."""
    log_probs = F.log_softmax(logits, dim=-1)
    per_mask = -(labels * log_probs).sum(dim=-1)
    return (per_mask * weight).mean()


class MaskContrastLoss(nn.Module):
    """Contrast between pooled masks of two views; same mask ids are positives."""

    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature

    def forward(self, pred1, pred2, target1, target2, ids1, ids2):
        b, m, d = pred1.shape
        pred1, pred2 = F.normalize(pred1, dim=-1), F.normalize(pred2, dim=-1)
        target1, target2 = F.normalize(target1, dim=-1), F.normalize(target2, dim=-1)

        same = (ids1.unsqueeze(2) == ids2.unsqueeze(1)).float()
        eye = torch.eye(b)
        # (b, m, b, m): a positive sits in the same image and has the same id
        labels_12 = torch.einsum("bc,bmn->bmcn", eye, same).reshape(b, m, b * m)
        labels_21 = torch.einsum("bc,bmn->bmcn", eye, same.transpose(1, 2)).reshape(b, m, b * m)

        logits_12 = torch.einsum("bmd,cnd->bmcn", pred1, target2).reshape(b, m, b * m) / self.temperature
        logits_21 = torch.einsum("bmd,cnd->bmcn", pred2, target1).reshape(b, m, b * m) / self.temperature

        w1 = (labels_12.sum(-1) > 0).float()
        w2 = (labels_21.sum(-1) > 0).float()
        labels_12 = labels_12 / labels_12.sum(-1, keepdim=True).clamp(min=1)
        labels_21 = labels_21 / labels_21.sum(-1, keepdim=True).clamp(min=1)

        loss_1 = soft_cross_entropy(logits_12, labels_12, w1)
        loss_2 = soft_cross_entropy(logits_21, labels_21, w2)
        return loss_1 + loss_2


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, dim, 3, padding=1), nn.BatchNorm2d(dim), nn.ReLU(),
        )
        self.projector = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x, masks):
        feats = self.body(x)
        area = masks.sum(dim=(2, 3)).clamp(min=1).unsqueeze(-1)
        pooled = torch.einsum("bdhw,bmhw->bmd", feats, masks) / area
        return self.projector(pooled)


def sample_views(batch, num_masks):
    base = torch.rand(batch, 3, 16, 16)
    segments = torch.randint(0, num_masks, (batch, 4, 4)).repeat_interleave(4, 1).repeat_interleave(4, 2)
    ids = torch.arange(num_masks).expand(batch, num_masks)
    masks = (segments.unsqueeze(1) == ids[:, :, None, None]).float()
    view1 = base + 0.05 * torch.randn_like(base)
    view2 = torch.flip(base, dims=[3]) + 0.05 * torch.randn_like(base)
    return view1, view2, masks, torch.flip(masks, dims=[3]), ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--masks", type=int, default=4)
    parser.add_argument("--momentum", type=float, default=0.99)
    args = parser.parse_args()

    torch.manual_seed(0)
    online = Encoder()
    target = copy.deepcopy(online)
    for p in target.parameters():
        p.requires_grad_(False)
    predictor = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    criterion = MaskContrastLoss()
    optimizer = torch.optim.Adam(list(online.parameters()) + list(predictor.parameters()), lr=1e-3)

    for step in range(args.steps):
        v1, v2, m1, m2, ids = sample_views(args.batch_size, args.masks)
        p1, p2 = predictor(online(v1, m1)), predictor(online(v2, m2))
        with torch.no_grad():
            t1, t2 = target(v1, m1), target(v2, m2)
        loss = criterion(p1, p2, t1, t2, ids, ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for po, pt in zip(online.parameters(), target.parameters()):
                pt.mul_(args.momentum).add_(po, alpha=1 - args.momentum)
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
