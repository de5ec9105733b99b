import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CHANNELS = 16


class Instances:
    def __init__(self, boxes, classes):
        self.proposal_boxes = boxes
        self.gt_classes = classes

    def __len__(self):
        return len(self.proposal_boxes)


def contained(boxes):
    lt = torch.max(boxes[:, None, :2], boxes[:, :2])
    rb = torch.min(boxes[:, None, 2:], boxes[:, 2:])
    wh = (rb - lt).clamp(min=0)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return wh[..., 0] * wh[..., 1] / area[None, :] > 0.9


class MultiPathFusion(nn.Module):
    def __init__(self, channels=CHANNELS):
        super().__init__()
        self.char_conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.text_conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x, global_context, proposals):
        boxes = proposals[0].proposal_boxes
        classes = proposals[0].gt_classes
        if len(boxes) == 0:
            return x
        inside = contained(boxes)
        result = []
        for i in range(len(boxes)):
            if classes[i] != 0:
                result.append(self.char_conv(x[i:i + 1]))
            elif inside[i].sum() > 1:
                result.append(self.text_conv(x[inside[i]].mean(dim=0, keepdim=True)))
            else:
                result.append(self.text_conv(x[i:i + 1]))
        char_context = torch.cat(result)
        fused = char_context + x + global_context
        return F.relu(self.bn(self.conv(fused)))


class TextMaskHead(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, CHANNELS, 3, stride=4, padding=1), nn.ReLU())
        self.seg = nn.Conv2d(CHANNELS, CHANNELS, 1)
        self.fusion = MultiPathFusion()
        self.mask = nn.Conv2d(CHANNELS, num_classes, 1)

    def pool(self, features, proposals):
        rois = []
        for feature, instances in zip(features, proposals):
            for x0, y0, x1, y1 in (instances.proposal_boxes / 4).long().tolist():
                roi = feature[:, y0:max(y1, y0 + 1), x0:max(x1, x0 + 1)]
                rois.append(F.adaptive_avg_pool2d(roi, 14))
        return torch.stack(rois)

    def forward(self, images, proposals):
        features = self.backbone(images)
        x = self.pool(features, proposals)
        global_context = self.pool(self.seg(features), proposals)
        return self.mask(self.fusion(x, global_context, proposals))


def sample(num):
    cells = torch.randperm(16)[:num]
    xy = 32 * torch.stack([cells % 4, cells // 4], dim=1).float()
    wh = torch.randint(16, 32, (num, 2)).float()
    return Instances(torch.cat([xy, xy + wh], dim=1), torch.randint(0, 4, (num,)))


IMS_PER_BATCH = 1
model = TextMaskHead()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(4):
    images = torch.rand(IMS_PER_BATCH, 3, 128, 128)
    proposals = [sample(5 + 4 * i) for i in range(IMS_PER_BATCH)]
    logits = model(images, proposals)
    classes = torch.cat([p.gt_classes for p in proposals])
    logits = logits[torch.arange(len(classes)), classes]
    loss = F.binary_cross_entropy_with_logits(logits, (torch.rand_like(logits) > 0.5).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss_mask", loss.item())
