import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class PointSegNet(nn.Module):
    def __init__(self, in_channels=4, num_classes=4, width=32):
        super().__init__()
        self.local = nn.Sequential(
            nn.Conv1d(in_channels, width, 1, bias=False), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 1, bias=False), nn.BatchNorm1d(width), nn.ReLU())
        self.head = nn.Sequential(
            nn.Conv1d(2 * width, width, 1, bias=False), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, num_classes, 1))

    def forward(self, points):
        f = self.local(points)
        g = f.mean(dim=2, keepdim=True).expand_as(f)
        return self.head(torch.cat([f, g], dim=1))


class MomentumUpdater:
    def __init__(self, base_tau=0.9, final_tau=0.99):
        self.base_tau, self.final_tau = base_tau, final_tau
        self.cur_tau = base_tau

    @torch.no_grad()
    def update(self, online_net, momentum_net):
        for op, mp in zip(online_net.parameters(), momentum_net.parameters()):
            mp.data = self.cur_tau * mp.data + (1 - self.cur_tau) * op.data
        for ob, mb in zip(online_net.buffers(), momentum_net.buffers()):
            if ob.is_floating_point():
                mb.data = self.cur_tau * mb.data + (1 - self.cur_tau) * ob.data
            else:
                mb.data.copy_(ob.data)

    def update_tau(self, step, max_steps):
        cos = (math.cos(math.pi * step / max_steps) + 1) / 2
        self.cur_tau = self.final_tau - (self.final_tau - self.base_tau) * cos


def scans(n, points, domain):
    """xyz plus reflectance; real scans are shifted and scaled against simulated ones."""
    label = torch.randint(0, 4, (n, points))
    height = label.float() * 0.8 + 0.25 * torch.randn(n, points)
    xy = torch.randn(n, 2, points)
    refl = (label % 2).float() + 0.3 * torch.randn(n, points)
    cloud = torch.cat([xy, height.unsqueeze(1), refl.unsqueeze(1)], dim=1)
    if domain == "real":
        cloud = cloud * torch.tensor([1.3, 1.3, 1.4, 0.7]).view(1, 4, 1) + torch.tensor([0.5, 0.5, 0.8, 0.4]).view(1, 4, 1)
    return cloud, label


def mix(src, src_y, tgt, tgt_y):
    keep = torch.rand(src.size(0), 1, src.size(2)) < 0.5
    points = torch.where(keep, src, tgt)
    return points, torch.where(keep.squeeze(1), src_y, tgt_y)


@torch.no_grad()
def accuracy(net, domain):
    net.eval()
    cloud, label = scans(32, 128, domain)
    return (net(cloud).argmax(1) == label).float().mean().item()


def pretrain(net, steps=80):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        net.train()
        cloud, label = scans(8, 128, "simulated")
        loss = F.cross_entropy(net(cloud), label)
        opt.zero_grad()
        loss.backward()
        opt.step()


def adapt(student, teacher, steps=150, threshold=0.7):
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    updater = MomentumUpdater()
    for step in range(steps):
        src, src_y = scans(8, 128, "simulated")
        tgt, _ = scans(8, 128, "real")
        teacher.eval()
        with torch.no_grad():
            conf, pseudo = teacher(tgt).softmax(1).max(1)
        pseudo[conf < threshold] = -1

        student.train()
        mixed, mixed_y = mix(src, src_y, tgt, pseudo)
        loss = F.cross_entropy(student(mixed), mixed_y, ignore_index=-1)
        opt.zero_grad()
        loss.backward()
        opt.step()

        updater.update(student, teacher)
        updater.update_tau(step, steps)
        if (step + 1) % 50 == 0:
            print("step %d loss %.3f teacher on real %.3f" % (step + 1, loss.item(), accuracy(teacher, "real")))


torch.manual_seed(0)
student = PointSegNet()
pretrain(student)
print("source model on simulated %.3f on real %.3f" % (accuracy(student, "simulated"), accuracy(student, "real")))
teacher = copy.deepcopy(student)
adapt(student, teacher)
stat = [(s.running_mean - t.running_mean).abs().mean().item() for s, t in zip(student.modules(), teacher.modules())
        if isinstance(s, nn.BatchNorm1d)]
print("running mean apart from student:", [round(v, 4) for v in stat])
