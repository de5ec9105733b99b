# line 10: log_softmax over dim=2 although the logits of one label per clip are two-dimensional; mended by: dim=1 for the log softmax
import torch
import torch.nn as nn
import torch.nn.functional as F


class DistillConfig:
    temperature = 3.0
    alpha = 0.7
    class_dim = 2
    n_classes = 10
    epochs = 2


class Net(nn.Module):
    def __init__(self, width, depth, n_classes):
        super().__init__()
        dims = [1] + [width] * depth
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in zip(dims, dims[1:]))
        self.fc = nn.Linear(width, n_classes)

    def forward(self, spec):
        for conv in self.convs:
            spec = F.leaky_relu(conv(spec), 0.1)
        return self.fc(spec.mean(dim=[2, 3]))


def distillation_loss(student, teacher, target, cfg):
    T = cfg.temperature
    soft = F.kl_div(
        F.log_softmax(student / T, dim=cfg.class_dim),
        F.softmax(teacher / T, dim=cfg.class_dim),
        reduction="batchmean",
    ) * T * T
    hard = F.cross_entropy(student, target)
    return cfg.alpha * soft + (1 - cfg.alpha) * hard


def train_teacher(teacher, x, y):
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for xb, yb in zip(x.split(20), y.split(20)):
        opt.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        opt.step()
    return teacher.eval().requires_grad_(False)


def birdsong(n, n_classes):
    y = torch.randint(n_classes, (n,))
    x = torch.randn(n, 1, 40, 30)
    for i, k in enumerate(y.tolist()):
        x[i, :, 4 * k:4 * k + 3] += 2
    return x, y


torch.manual_seed(0)
cfg = DistillConfig()
x, y = birdsong(100, cfg.n_classes)
teacher = train_teacher(Net(16, 3, cfg.n_classes), x, y)
student = Net(6, 2, cfg.n_classes)
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(cfg.epochs):
    for xb, yb in zip(x.split(20), y.split(20)):
        with torch.no_grad():
            t = teacher(xb)
        loss = distillation_loss(student(xb), t, yb, cfg)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, loss.item())
