import numpy as np
import torch
import torch.nn as nn

# ---------------------------------------------------------------- config
cfg = dict(
    img_size=96,
    stride=16,
    anchors=[(14, 14), (24, 16), (30, 34)],
    num_classes=3,
    batch=8,
    lr=1e-3,
    iters=30,
)


# ---------------------------------------------------------------- data
def fake_batch(rng, n, size, nc):
    imgs = 0.1 * rng.standard_normal((n, 3, size, size)).astype(np.float32)
    gts = []
    for b in range(n):
        k = rng.integers(1, 4)
        wh = rng.uniform(12, 34, size=(k, 2))
        xy = rng.uniform(18, size - 18, size=(k, 2))
        cls = rng.integers(0, nc, size=k)
        for (x, y), (w, h), c in zip(xy, wh, cls):
            imgs[b, c, int(y - h / 2):int(y + h / 2), int(x - w / 2):int(x + w / 2)] += 1.0
        gts.append(np.concatenate([xy, wh, cls[:, None]], axis=1).astype(np.float32))
    return torch.from_numpy(imgs), gts


# ---------------------------------------------------------------- model
class ConvBNAct(nn.Sequential):
    def __init__(self, c1, c2, s=1):
        super().__init__(nn.Conv2d(c1, c2, 3, s, 1, bias=False), nn.BatchNorm2d(c2), nn.SiLU())


class YoloHead(nn.Module):
    def __init__(self, c, anchors, nc, stride):
        super().__init__()
        self.na, self.no, self.stride = len(anchors), nc + 5, stride
        self.register_buffer("anchors", torch.tensor(anchors, dtype=torch.float32).view(1, -1, 1, 1, 2))
        self.conv = nn.Conv2d(c, self.na * self.no, 1)

    def forward(self, x):
        b, _, ny, nx = x.shape
        p = self.conv(x).view(b, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
        yv, xv = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
        grid = torch.stack((xv, yv), 2).view(1, 1, ny, nx, 2).float()

        y = p.sigmoid()
        xy = (y[..., 0:2] * 2 - 0.5 + grid) * self.stride
        wh = (y[..., 2:4] * 2) ** 2 * self.anchors
        return torch.cat((xy, wh, y[..., 4:]), dim=-1)


class Detector(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = nn.Sequential(ConvBNAct(3, 16, 2), ConvBNAct(16, 32, 2), ConvBNAct(32, 48, 2), ConvBNAct(48, 64, 2))
        self.head = YoloHead(64, cfg["anchors"], cfg["num_classes"], cfg["stride"])

    def forward(self, x):
        return self.head(self.backbone(x))


# ---------------------------------------------------------------- loss
def build_targets(gts, shape, anchors, stride):
    tobj = torch.zeros(shape[:4])
    idx, boxes, classes = [], [], []
    a = np.array(anchors, dtype=np.float32)
    for b, gt in enumerate(gts):
        for x, y, w, h, c in gt:
            best = int(np.argmin(np.abs(np.log(a / np.array([w, h]))).sum(1)))
            gi, gj = int(x // stride), int(y // stride)
            tobj[b, best, gj, gi] = 1.0
            idx.append((b, best, gj, gi))
            boxes.append((x, y, w, h))
            classes.append(int(c))
    return tobj, torch.tensor(idx).T, torch.tensor(np.array(boxes)), torch.tensor(classes)


def compute_loss(pred, gts, cfg):
    tobj, (b, a, j, i), tbox, tcls = build_targets(gts, pred.shape, cfg["anchors"], cfg["stride"])
    pos = pred[b, a, j, i]
    lbox = nn.functional.l1_loss(pos[:, :4], tbox) / cfg["stride"]
    lobj = nn.functional.binary_cross_entropy(pred[..., 4], tobj)
    onehot = nn.functional.one_hot(tcls, cfg["num_classes"]).float()
    lcls = nn.functional.binary_cross_entropy(pos[:, 5:], onehot)
    return lbox + lobj + 0.5 * lcls


rng = np.random.default_rng(3)
torch.manual_seed(3)
net = Detector(cfg)
optim = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
net.train()
for it in range(cfg["iters"]):
    imgs, gts = fake_batch(rng, cfg["batch"], cfg["img_size"], cfg["num_classes"])
    loss = compute_loss(net(imgs), gts, cfg)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if it % 10 == 9:
        print("iter %d loss %.3f" % (it + 1, loss.item()))
