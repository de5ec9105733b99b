import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 16, 2)
        self.layer2 = conv_bn(16, 24)
        self.layer3 = conv_bn(24, 24)
        self.layer4 = conv_bn(24, 24)

    def forward(self, x):
        a = self.layer2(self.stem(x))
        b = self.layer3(a)
        return a, b, self.layer4(b)


class Head(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tower = conv_bn(c, c)
        self.cls = nn.Conv2d(c, 2, 1)
        self.box = nn.Conv2d(c, 4, 1)

    def forward(self, x):
        x = self.tower(x)
        return self.cls(x), torch.exp(self.box(x).clamp(max=4))


def xcorr(search, kernel):
    b, c, h, w = search.shape
    out = F.conv2d(search.reshape(1, b * c, h, w), kernel.reshape(b * c, 1, *kernel.shape[2:]), groups=b * c)
    return out.view(b, c, *out.shape[2:]) / kernel[0, 0].numel()


class Tracker(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.backbone = Backbone()
        self.neck = nn.ModuleList([nn.Conv2d(c, c, 1) for _ in range(3)])
        self.down = nn.ConvTranspose2d(c * 3, c, 1, 1)
        self.car_head = Head(c)

    def forward(self, template, search):
        z = [n(f) for n, f in zip(self.neck, self.backbone(template))]
        x = [n(f) for n, f in zip(self.neck, self.backbone(search))]
        maps = torch.cat([xcorr(s, k) for s, k in zip(x, z)], 1)
        return self.car_head(self.down(maps))


def build_optimizer(model, base_lr, backbone_lr=0.1):
    for p in model.backbone.stem.parameters():
        p.requires_grad = False
    trainable = []
    trainable += [{'params': filter(lambda p: p.requires_grad, model.backbone.parameters()),
                   'lr': base_lr * backbone_lr}]
    trainable += [{'params': model.neck.parameters(), 'lr': base_lr}]
    trainable += [{'params': model.down.parameters(), 'lr': base_lr}]
    trainable += [{'params': model.car_head.parameters(), 'lr': base_lr}]
    return torch.optim.SGD(trainable, lr=base_lr, momentum=0.9, weight_decay=1e-4)


def sequences(gen, n=6):
    search = torch.rand(n, 3, 48, 48, generator=gen) * 0.3
    template = torch.rand(n, 3, 24, 24, generator=gen) * 0.3
    template[:, :, 8:16, 8:16] = 1
    cls = torch.zeros(n, 13, 13, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(8, 32, (2,), generator=gen).tolist()
        search[i, :, r:r + 8, c:c + 8] = 1
        cls[i, min(max((r - 8) // 2, 0), 12), min(max((c - 8) // 2, 0), 12)] = 1
    return template, search, cls


def main():
    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    model = Tracker()
    optimizer = build_optimizer(model, base_lr=0.02)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    weight = torch.tensor([0.1, 1.0])
    for step in range(30):
        template, search, labels = sequences(gen)
        cls, box = model(template, search)
        pos = labels == 1
        loss = F.cross_entropy(cls, labels, weight=weight) + 0.1 * (box.permute(0, 2, 3, 1)[pos] - 4).abs().mean()
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10)
        optimizer.step()
        if step % 10 == 9:
            print('step', step + 1, 'loss %.4f' % loss.item())
    moved = {}
    for n, p in model.named_parameters():
        part = n.split('.')[0]
        moved[part] = moved.get(part, 0.0) + (p.detach() - before[n]).norm().item()
    print({k: round(v, 4) for k, v in moved.items()})


main()
