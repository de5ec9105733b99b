import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

GRID = 6
SIZE = 48


def render(n, target_domain=False):
    """Small scenes with one square; the target domain is darker and foggy."""
    img = 0.1 * torch.randn(n, 3, SIZE, SIZE)
    cell = torch.randint(0, GRID, (n, 2))
    off = torch.rand(n, 2)
    size = torch.rand(n) * 0.5 + 0.5
    for i in range(n):
        cy, cx = ((cell[i] + off[i]) * (SIZE / GRID)).tolist()
        half = 3 + 3 * size[i].item()
        y0, y1 = max(0, int(cy - half)), int(cy + half)
        x0, x1 = max(0, int(cx - half)), int(cx + half)
        img[i, :, y0:y1, x0:x1] += torch.tensor([1.0, 0.6, 0.2]).view(3, 1, 1)
    if target_domain:
        img = 0.6 * img + 0.3
    labels = torch.cat([cell.float(), off, size[:, None]], dim=1)
    return img, labels


def conv(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, stride=2, padding=1, bias=False),
                         nn.BatchNorm2d(c_out), nn.SiLU())


class TinyDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(conv(3, 16), conv(16, 32), conv(32, 48))
        self.head = nn.Conv2d(48, 4, 1)

    def forward(self, x):
        return self.head(self.backbone(x))


def detection_loss(out, labels, weight=None):
    n = len(out)
    if weight is None:
        weight = torch.ones(n)
    gy, gx = labels[:, 0].long(), labels[:, 1].long()
    obj = torch.zeros(n, GRID, GRID)
    obj[torch.arange(n), gy, gx] = 1
    l_obj = F.binary_cross_entropy_with_logits(out[:, 0], obj, reduction='none').mean(dim=(1, 2))
    picked = torch.sigmoid(out[torch.arange(n), 1:, gy, gx])
    l_box = (picked - labels[:, 2:5]).abs().mean(1)
    return ((5 * l_obj + l_box) * weight).sum() / weight.sum().clamp(min=1)


@torch.no_grad()
def decode(out):
    score, idx = torch.sigmoid(out[:, 0]).flatten(1).max(dim=1)
    gy, gx = idx // GRID, idx % GRID
    box = torch.sigmoid(out[torch.arange(len(out)), 1:, gy, gx])
    return score, torch.cat([gy[:, None].float(), gx[:, None].float(), box], dim=1)


class WeightEMA(object):
    """Teacher = exponential moving average of the student."""

    def __init__(self, params, src_params, alpha=0.99):
        self.params = list(params)
        self.src_params = list(src_params)
        self.alpha = alpha
        for p, src in zip(self.params, self.src_params):
            p.data.copy_(src.data)

    def step(self):
        for p, src in zip(self.params, self.src_params):
            p.data.mul_(self.alpha)
            p.data.add_(src.data * (1.0 - self.alpha))


def hit_rate(model, img, labels):
    model.eval()
    with torch.no_grad():
        score, pred = decode(model(img))
    return (pred[:, :2] == labels[:, :2]).all(1).float().mean().item(), score.mean().item()


def main(opt):
    torch.manual_seed(opt.seed)
    student = TinyDetector()
    teacher = TinyDetector()
    teacher.load_state_dict(copy.deepcopy(student.state_dict()))

    student_params = [p for name, p in student.named_parameters()]
    teacher_params = [p for name, p in teacher.named_parameters()]
    for p in teacher.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), lr=opt.lr, momentum=0.9, nesterov=True)
    teacher_optimizer = WeightEMA(teacher_params, student_params, alpha=opt.alpha)
    test_img, test_labels = render(128, target_domain=True)

    for epoch in range(opt.epochs):
        used = 0
        for it in range(opt.iters):
            student.train()
            teacher.eval()
            src_img, src_labels = render(opt.batch)
            tgt_img, _ = render(opt.batch, target_domain=True)
            loss = detection_loss(student(src_img), src_labels)

            with torch.no_grad():
                score, pseudo = decode(teacher(tgt_img))
            keep = (score > opt.conf).float()
            used += int(keep.sum())
            loss = loss + 0.2 * detection_loss(student(tgt_img), pseudo, keep)

            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            teacher_optimizer.step()
        s_hit, _ = hit_rate(student, test_img, test_labels)
        t_hit, t_conf = hit_rate(teacher, test_img, test_labels)
        print('epoch %d loss %.4f pseudo %d | student %.3f teacher %.3f (conf %.3f)' % (
            epoch, loss.item(), used, s_hit, t_hit, t_conf))


if __name__ == '__main__':
    ap = argparse.ArgumentParser()
    ap.add_argument('--epochs', type=int, default=8)
    ap.add_argument('--iters', type=int, default=40)
    ap.add_argument('--batch', type=int, default=16)
    ap.add_argument('--lr', type=float, default=0.05)
    ap.add_argument('--alpha', type=float, default=0.97)
    ap.add_argument('--conf', type=float, default=0.8)
    ap.add_argument('--seed', type=int, default=0)
    main(ap.parse_args())
