import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def masked_pool(feat, mask):
    mask = F.interpolate(mask, size=feat.shape[-2:], mode="nearest")
    return (feat * mask).sum((2, 3), keepdim=True) / (mask.sum((2, 3), keepdim=True) + 5e-4)


class FewShotSeg(nn.Module):
    def __init__(self, shot=5, dim=32):
        super(FewShotSeg, self).__init__()
        self.shot = shot
        self.backbone = nn.Sequential(
            nn.Conv2d(3, dim, 3, 2, 1), nn.BatchNorm2d(dim), nn.ReLU(),
            nn.Conv2d(dim, dim, 3, 1, 1), nn.ReLU(),
        )
        self.down_query = nn.Sequential(nn.Conv2d(dim, dim, 1, bias=False), nn.ReLU(inplace=True))
        self.down_supp = nn.Sequential(nn.Conv2d(dim, dim, 1, bias=False), nn.ReLU(inplace=True))
        self.merge = nn.Sequential(nn.Conv2d(2 * dim + 1, dim, 1, bias=False), nn.ReLU(inplace=True))
        self.cls = nn.Sequential(nn.Conv2d(dim, dim, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(dim, 2, 1))

        # learned weighting of the support images
        if shot > 1:
            self.kshot_rw = nn.Conv2d(shot, shot, kernel_size=1, bias=False)
            self.kshot_rw.weight = nn.Parameter(torch.ones_like(self.kshot_rw.weight) / shot)

        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, query, supp, supp_mask):
        with torch.no_grad():
            q = self.backbone(query)
            s = self.backbone(supp.flatten(0, 1))
        q = self.down_query(q)
        s = self.down_supp(s)
        proto = masked_pool(s, supp_mask.flatten(0, 1)).view(-1, self.shot, q.size(1), 1, 1)

        q_mean = q.mean((2, 3), keepdim=True).unsqueeze(1)
        diff = (proto - q_mean).norm(dim=2)
        if self.shot > 1:
            weight = torch.softmax(self.kshot_rw(diff), dim=1)
        else:
            weight = torch.ones_like(diff)
        proto = (weight.unsqueeze(2) * proto).sum(1)

        prior = F.cosine_similarity(q, proto.expand_as(q), dim=1).unsqueeze(1)
        x = self.merge(torch.cat([q, proto.expand_as(q), prior], dim=1))
        return F.interpolate(self.cls(x), size=query.shape[-2:], mode="bilinear", align_corners=True)

    def get_optim(self, args):
        return torch.optim.AdamW(
            [
                {"params": self.down_query.parameters(), "lr": args.lr * 10},
                {"params": self.down_supp.parameters(), "lr": args.lr * 10},
                {"params": self.merge.parameters(), "lr": args.lr * 10},
                {"params": self.cls.parameters()},
            ], lr=args.lr, weight_decay=args.weight_decay)


def episode(batch, shot, size=32):
    color = torch.randn(batch, 1, 3, 1, 1)
    mask = torch.zeros(batch, shot + 1, 1, size, size)
    for b in range(batch):
        for k in range(shot + 1):
            r, c = torch.randint(0, size // 2, (2,)).tolist()
            mask[b, k, :, r:r + size // 2, c:c + size // 2] = 1
    images = 0.6 * torch.randn(batch, shot + 1, 3, size, size) + color * mask
    return images[:, 0], mask[:, 0, 0].long(), images[:, 1:], mask[:, 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shot", type=int, default=5)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--iters", type=int, default=60)
    args = parser.parse_args()

    torch.manual_seed(321)
    model = FewShotSeg(args.shot)
    optimizer = model.get_optim(args)
    model.train()
    for it in range(1, args.iters + 1):
        query, target, supp, supp_mask = episode(4, args.shot)
        out = model(query, supp, supp_mask)
        loss = F.cross_entropy(out, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 20 == 0:
            pred = out.argmax(1)
            iou = ((pred == 1) & (target == 1)).sum() / ((pred == 1) | (target == 1)).sum().clamp(min=1)
            print("iter %d loss %.4f iou %.4f" % (it, loss.item(), iou.item()))


if __name__ == "__main__":
    main()
