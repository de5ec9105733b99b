import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GatedConv(nn.Module):
    def __init__(self, edge_ch, reg_ch):
        super().__init__()
        self.gate = nn.Sequential(
            nn.BatchNorm2d(edge_ch + reg_ch), nn.Conv2d(edge_ch + reg_ch, edge_ch, 1), nn.ReLU(),
            nn.Conv2d(edge_ch, 1, 1), nn.Sigmoid(),
        )
        self.conv = nn.Conv2d(edge_ch, edge_ch, 1)

    def forward(self, edge, regular):
        alpha = self.gate(torch.cat([edge, regular], dim=1))
        return self.conv(edge * (alpha + 1))


class TwoStreamNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.b1 = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.b2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.b3 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.side = nn.Conv2d(32, 1, 1)
        self.res = nn.Conv2d(16, 8, 3, padding=1)
        self.gcl = GatedConv(8, 1)
        self.fuse = nn.Conv2d(8, 1, 1, bias=False)
        self.sigmoid = nn.Sigmoid()
        self.head = nn.Sequential(nn.Conv2d(32 + 1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, num_classes, 1))

    def forward(self, x):
        size = x.shape[2:]
        m1 = self.b1(x)
        m3 = self.b3(self.b2(m1))
        side = F.interpolate(self.side(m3), size, mode="bilinear", align_corners=True)
        cs = self.gcl(self.res(m1), side)
        cs = self.fuse(cs)
        edge_out = self.sigmoid(cs)
        up = F.interpolate(m3, size, mode="bilinear", align_corners=True)
        seg_out = self.head(torch.cat([up, edge_out], dim=1))
        return seg_out, edge_out


class JointEdgeSegLoss(nn.Module):
    def __init__(self, edge_weight=20.0, seg_weight=1.0):
        super().__init__()
        self.edge_weight, self.seg_weight = edge_weight, seg_weight

    def bce2d(self, input, target):
        log_p = input.transpose(1, 2).transpose(2, 3).contiguous().view(1, -1)
        target_t = target.transpose(1, 2).transpose(2, 3).contiguous().view(1, -1)
        pos_index = target_t == 1
        neg_index = target_t == 0
        weight = torch.zeros_like(log_p)
        pos_num, neg_num = pos_index.sum().float(), neg_index.sum().float()
        sum_num = pos_num + neg_num
        weight[pos_index] = neg_num / sum_num
        weight[neg_index] = pos_num / sum_num
        return F.binary_cross_entropy_with_logits(log_p, target_t, weight, reduction="mean")

    def forward(self, inputs, targets):
        seg, edge = inputs
        mask, edge_mask = targets
        return {
            "seg": self.seg_weight * F.cross_entropy(seg, mask),
            "edge": self.edge_weight * self.bce2d(edge, edge_mask),
        }


def street_scenes(n, size=24):
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for c in range(1, 4):
            y, x = torch.randint(0, size - 9, (2,)).tolist()
            mask[i, y:y + 9, x:x + 9] = c
    edge = torch.zeros(n, 1, size, size)
    edge[:, 0, 1:] += (mask[:, 1:] != mask[:, :-1]).float()
    edge[:, 0, :, 1:] += (mask[:, :, 1:] != mask[:, :, :-1]).float()
    edge = edge.clamp(max=1)
    palette = torch.tensor([[0.1, 0.1, 0.1], [0.8, 0.2, 0.2], [0.2, 0.8, 0.2], [0.2, 0.2, 0.8]])
    img = palette[mask].permute(0, 3, 1, 2) + 0.1 * torch.randn(n, 3, size, size)
    return TensorDataset(img, mask, edge)


def main():
    torch.manual_seed(0)
    loader = DataLoader(street_scenes(48), batch_size=8, shuffle=True)
    net = TwoStreamNet()
    criterion = JointEdgeSegLoss()
    optim = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(8):
        tot = {"seg": 0.0, "edge": 0.0}
        for img, mask, edge in loader:
            optim.zero_grad()
            loss_dict = criterion(net(img), (mask, edge))
            sum(loss_dict.values()).backward()
            optim.step()
            for k, v in loss_dict.items():
                tot[k] += v.item() / len(loader)
        print("epoch %d seg %.4f edge %.4f" % (epoch, tot["seg"], tot["edge"]))
    net.eval()
    img, mask, edge = next(iter(loader))
    with torch.no_grad():
        seg, prob = net(img)
    print("pixel acc %.3f" % (seg.argmax(1) == mask).float().mean().item())
    print("edge prob on edges %.3f off edges %.3f" % (prob[edge == 1].mean().item(), prob[edge == 0].mean().item()))


if __name__ == "__main__":
    main()
