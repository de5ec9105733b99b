from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

cfg = SimpleNamespace(
    num_row=18, num_cell=25, num_lanes=4, height=96, width=240,
    batch_size=4, epoch=1, lr=1e-3,
    use_aux=False, seg_w=0.5, cls_w=1.0,
)


class LaneData(Dataset):
    """image, cell of every lane at every row anchor, colour drawing of the lanes"""

    def __init__(self, cfg, n=16):
        g = torch.Generator().manual_seed(3)
        self.images = torch.randn(n, 3, cfg.height, cfg.width, generator=g)
        self.cells = torch.randint(0, cfg.num_cell + 1, (n, cfg.num_row, cfg.num_lanes), generator=g)
        self.drawings = torch.randint(0, cfg.num_lanes + 1, (n, 3, cfg.height, cfg.width), generator=g)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"images": self.images[i], "labels": self.cells[i], "seg_images": self.drawings[i]}


def conv_block(i, o, stride):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class SegHead(nn.Module):
    def __init__(self, channels, num_lanes):
        super().__init__()
        self.reduce = conv_block(channels, 32, 1)
        self.classify = nn.Conv2d(32, num_lanes + 1, 1)

    def forward(self, x, size):
        return F.interpolate(self.classify(self.reduce(x)), size=size, mode="bilinear", align_corners=False)


class LaneNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.backbone = nn.Sequential(conv_block(3, 16, 2), conv_block(16, 32, 2), conv_block(32, 64, 2), conv_block(64, 64, 2))
        self.pool = nn.Conv2d(64, 8, 1)
        self.dim = (cfg.num_cell + 1, cfg.num_row, cfg.num_lanes)
        flat = 8 * (cfg.height // 16) * (cfg.width // 16)
        self.cls = nn.Sequential(nn.Linear(flat, 128), nn.ReLU(), nn.Linear(128, self.dim[0] * self.dim[1] * self.dim[2]))
        if cfg.use_aux:
            self.seg_head = SegHead(64, cfg.num_lanes)

    def forward(self, x):
        fea = self.backbone(x)
        out = {"cls_out": self.cls(self.pool(fea).flatten(1)).view(-1, *self.dim)}
        if self.cfg.use_aux:
            out["seg_out"] = self.seg_head(fea, x.shape[2:])
        return out


def get_loss_dict(cfg):
    d = {"name": ["cls_loss"], "op": [nn.CrossEntropyLoss()], "weight": [cfg.cls_w], "data_src": [("cls_out", "labels")]}
    if cfg.use_aux:
        d["name"].append("seg_loss")
        d["op"].append(nn.CrossEntropyLoss(weight=torch.tensor([0.4] + [1.0] * cfg.num_lanes)))
        d["weight"].append(cfg.seg_w)
        d["data_src"].append(("seg_out", "seg_images"))
    return d


def calc_loss(loss_dict, results):
    loss, parts = 0, {}
    for name, op, weight, src in zip(*[loss_dict[k] for k in ("name", "op", "weight", "data_src")]):
        datas = [results[s] for s in src]
        cur = op(*datas)
        parts[name] = cur.item()
        loss = loss + cur * weight
    return loss, parts


def main():
    torch.manual_seed(0)
    net = LaneNet(cfg)
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    loss_dict = get_loss_dict(cfg)
    loader = DataLoader(LaneData(cfg), batch_size=cfg.batch_size, shuffle=True)
    for epoch in range(cfg.epoch):
        for step, batch in enumerate(loader):
            results = dict(batch, **net(batch["images"]))
            loss, parts = calc_loss(loss_dict, results)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, step, " ".join("%s %.3f" % kv for kv in parts.items()))


if __name__ == "__main__":
    main()
