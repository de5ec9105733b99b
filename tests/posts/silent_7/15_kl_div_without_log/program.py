import torch
import torch.nn as nn
import torch.nn.functional as F

TEMPERATURE = 4.0
ALPHA = 0.9
CLASSES = 12


def mixture(n, seed):
    g = torch.Generator().manual_seed(seed)
    fixed = torch.Generator().manual_seed(123)
    centers = 1.4 * torch.randn(CLASSES, 3, 20, generator=fixed)
    y = torch.randint(0, CLASSES, (n,), generator=g)
    sub = torch.randint(0, 3, (n,), generator=g)
    return centers[y, sub] + 1.3 * torch.randn(n, 20, generator=g), y


def mlp(width):
    return nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(dim=1) == y).float().mean().item()


def train_teacher(x, y):
    teacher = mlp(256)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=1e-3, weight_decay=1e-2)
    for _ in range(8):
        teacher.train()
        for rows in torch.randperm(len(x)).split(100):
            loss = F.cross_entropy(teacher(x[rows]), y[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return teacher.requires_grad_(False).eval()


def distillation_loss(student_logits, teacher_logits, labels):
    soft_student = F.softmax(student_logits / TEMPERATURE, dim=1)
    soft_teacher = F.softmax(teacher_logits / TEMPERATURE, dim=1)
    soft = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * TEMPERATURE ** 2
    hard = F.cross_entropy(student_logits, labels)
    return ALPHA * soft + (1 - ALPHA) * hard


torch.manual_seed(0)
x_big, y_big = mixture(6000, seed=0)
x_small, y_small = x_big[:500], y_big[:500]
x_test, y_test = mixture(2000, seed=1)

teacher = train_teacher(x_big, y_big)
print(f"teacher       test acc {accuracy(teacher, x_test, y_test):.3f}")

torch.manual_seed(1)
student = mlp(48)
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(40):
    student.train()
    total = 0.0
    batches = torch.randperm(len(x_small)).split(50)
    for rows in batches:
        with torch.no_grad():
            guide = teacher(x_small[rows])
        loss = distillation_loss(student(x_small[rows]), guide, y_small[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 10 == 9:
        with torch.no_grad():
            agree = (student(x_test).argmax(1) == teacher(x_test).argmax(1)).float().mean().item()
        print(f"epoch {epoch + 1:2d}  loss {total / len(batches):8.4f}  "
              f"test acc {accuracy(student, x_test, y_test):.3f}  agrees with teacher {agree:.3f}")
