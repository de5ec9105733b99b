import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def lovasz_grad(gt_sorted):
    p = len(gt_sorted)
    gts = gt_sorted.sum()
    intersection = gts - gt_sorted.float().cumsum(0)
    union = gts + (1 - gt_sorted).float().cumsum(0)
    jaccard = 1.0 - intersection / union
    if p > 1:
        jaccard[1:p] = jaccard[1:p] - jaccard[0:-1]
    return jaccard


def flatten_binary(logits, labels, ignore_index=255):
    logits = logits.view(-1)
    labels = labels.view(-1)
    valid = labels != ignore_index
    return logits[valid], labels[valid]


def lovasz_hinge(logits, labels):
    flat, gt = flatten_binary(logits, labels)
    if len(gt) == 0:
        return flat.sum() * 0.0
    signs = 2.0 * gt.float() - 1.0
    errors = 1.0 - flat * signs
    errors_sorted, perm = torch.sort(errors, dim=0, descending=True)
    return torch.dot(F.relu(errors_sorted), lovasz_grad(gt[perm]))


class Roads(Dataset):
    """aerial tiles with one diagonal road; a strip at the border has no label"""

    def __init__(self, n=48, size=48):
        g = torch.Generator().manual_seed(21)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
        self.x, self.y = [], []
        for _ in range(n):
            shift = int(torch.randint(-14, 15, (1,), generator=g))
            road = ((yy - xx + shift).abs() < 5).long()
            img = torch.randn(3, size, size, generator=g) * 0.4 + road * 0.9
            road[:, :2] = 255
            self.x.append(img)
            self.y.append(road)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class FCN(nn.Module):
    def __init__(self, num_classes, width=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.conv_seg = nn.Conv2d(width, num_classes, 1)

    def forward(self, img):
        out = self.conv_seg(self.backbone(img))
        return F.interpolate(out, size=img.shape[2:], mode='bilinear', align_corners=False)


cfg = dict(num_classes=1, lr=0.01, epochs=4, batch=8)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Roads(), batch_size=cfg['batch'], shuffle=True)
    model = FCN(cfg['num_classes'])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg['lr'])
    for epoch in range(cfg['epochs']):
        inter = union = 0
        for img, label in loader:
            logits = model(img)
            loss = lovasz_hinge(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            pred = logits.detach()[:, -1] > 0
            inter += (pred & (label == 1)).sum().item()
            union += ((pred | (label == 1)) & (label != 255)).sum().item()
        print('epoch %d loss %.3f road IoU %.3f' % (epoch, loss.item(), inter / max(union, 1)))


if __name__ == '__main__':
    main()
