import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Detect(nn.Module):
    stride = [8, 16]
    anchors = [[[10, 13], [16, 30], [33, 23]], [[30, 61], [62, 45], [59, 119]]]

    def __init__(self, nc=4, ch=(32, 64)):
        super().__init__()
        self.nc, self.no = nc, nc + 5
        self.nl, self.na = len(self.anchors), 3
        a = torch.tensor(self.anchors).float()
        self.register_buffer('anchor_grid', a / torch.tensor(self.stride).float().view(-1, 1, 1))
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU(),
                                  nn.Conv2d(32, ch[0], 3, 2, 1), nn.SiLU())
        self.down = nn.Sequential(nn.Conv2d(ch[0], ch[1], 3, 2, 1), nn.SiLU())
        self.m = nn.ModuleList(nn.Conv2d(c, self.no * self.na, 1) for c in ch)

    def forward(self, x):
        p3 = self.stem(x)
        out = []
        for head, f in zip(self.m, (p3, self.down(p3))):
            y = head(f)
            bs, _, ny, nx = y.shape
            out.append(y.view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous())
        return out


def build_targets(p, targets, model, anchor_t=4.0):
    # targets: (image, class, x, y, w, h), all in 0-1
    nt = targets.shape[0]
    tcls, tbox, indices = [], [], []
    gain = torch.ones(6, device=targets.device)
    at = torch.arange(model.na, device=targets.device).view(model.na, 1).repeat(1, nt)
    for i in range(model.nl):
        anchors = model.anchor_grid[i]
        gain[2:] = torch.tensor(p[i].shape, device=targets.device)[[3, 2, 3, 2]]
        a, t = [], targets * gain
        if nt:
            r = t[None, :, 4:6] / anchors[:, None]
            j = torch.max(r, 1. / r).max(2)[0] < anchor_t
            a, t = at[j], t.repeat(model.na, 1, 1)[j]
        b, c = t[:, :2].long().T
        gij = t[:, 2:4].long()
        gi, gj = gij.T
        indices.append((b, a, gj.clamp(0, p[i].shape[2] - 1), gi.clamp(0, p[i].shape[3] - 1)))
        tbox.append(torch.cat((t[:, 2:4] - gij, t[:, 4:6]), 1))
        tcls.append(c)
    return tcls, tbox, indices


def compute_loss(p, targets, model):
    lcls, lbox, lobj = 0., 0., 0.
    tcls, tbox, indices = build_targets(p, targets, model)
    for i, pi in enumerate(p):
        b, a, gj, gi = indices[i]
        tobj = torch.zeros_like(pi[..., 0])
        if b.shape[0]:
            ps = pi[b, a, gj, gi]
            lbox = lbox + F.l1_loss(ps[:, :2].sigmoid(), tbox[i][:, :2])
            tobj[b, a, gj, gi] = 1.
            lcls = lcls + F.binary_cross_entropy_with_logits(ps[:, 5:], F.one_hot(tcls[i], model.nc).float())
        lobj = lobj + F.binary_cross_entropy_with_logits(pi[..., 4], tobj)
    return lbox * 0.05 + lobj + lcls * 0.5


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--device', default='cuda:0' if torch.cuda.is_available() else 'cpu')
    parser.add_argument('--img', type=int, default=128)
    parser.add_argument('--batch-size', type=int, default=4)
    opt = parser.parse_args()
    device = torch.device(opt.device)

    model = Detect().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
    for epoch in range(2):
        imgs = torch.rand(opt.batch_size, 3, opt.img, opt.img, device=device)
        labels = torch.cat([torch.randint(opt.batch_size, (20, 1)).float(), torch.randint(4, (20, 1)).float(),
                            torch.rand(20, 2), torch.rand(20, 2) * 0.3 + 0.1], 1)
        pred = model(imgs)
        loss = compute_loss(pred, labels.to(device), model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f'{epoch}: {loss.item():.4f}')
