import torch
import torch.nn as nn
import torch.nn.functional as F


class AnchorHead(nn.Module):
    """Box offsets at several feature levels, relative to fixed anchors per level."""

    def __init__(self, channels, anchor_sizes, num_classes=3):
        super(AnchorHead, self).__init__()
        self.num_classes = num_classes
        for i, sizes in enumerate(anchor_sizes):
            self.register_buffer('anchors_{}'.format(i), torch.tensor(sizes, dtype=torch.float32))
        self.heads = nn.ModuleList(
            nn.Conv2d(channels, len(s) * (4 + num_classes), 1) for s in anchor_sizes)

    def forward(self, feats):
        boxes, scores = [], []
        for i, (feat, head) in enumerate(zip(feats, self.heads)):
            n, _, h, w = feat.shape
            anchors = getattr(self, 'anchors_{}'.format(i))
            out = head(feat).view(n, len(anchors), 4 + self.num_classes, h, w)
            wh = torch.exp(out[:, :, 2:4]) * anchors[None, :, :, None, None]
            box = torch.cat([torch.sigmoid(out[:, :, :2]), wh], dim=2)
            boxes.append(box.permute(0, 1, 3, 4, 2).reshape(n, -1, 4))
            scores.append(out[:, :, 4:].permute(0, 1, 3, 4, 2).reshape(n, -1, self.num_classes))
        return torch.cat(boxes, 1), torch.cat(scores, 1)


class Detector(nn.Module):
    def __init__(self):
        super(Detector, self).__init__()
        self.c1 = nn.Sequential(nn.Conv2d(3, 32, 3, 4, 1), nn.ReLU())
        self.c2 = nn.Sequential(nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
        self.c3 = nn.Sequential(nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
        self.head = AnchorHead(32, [[[10., 13.], [16., 30.]], [[30., 61.], [62., 45.]], [[116., 90.], [156., 198.]]])

    def forward(self, x):
        f1 = self.c1(x)
        f2 = self.c2(f1)
        return self.head([f1, f2, self.c3(f2)])


model = Detector()
print([name for name, _ in model.named_buffers()])
model.cuda()
print({b.device for b in model.buffers()})

optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for step in range(3):
    images = torch.rand(4, 3, 64, 64).cuda()
    gt_boxes = torch.rand(4, 4).cuda() * 60
    gt_cls = torch.randint(0, 3, (4,)).cuda()
    boxes, scores = model(images)
    best = scores.amax(dim=2).argmax(dim=1)
    rows = torch.arange(len(images)).cuda()
    loss = F.smooth_l1_loss(boxes[rows, best], gt_boxes) + F.cross_entropy(scores[rows, best], gt_cls)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
