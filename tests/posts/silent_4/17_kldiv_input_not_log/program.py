import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
T = 3.0
x = torch.randn(1500, 20)
centers = torch.randn(6, 20)
y = (x @ centers.t() + 0.3 * torch.randn(1500, 6)).argmax(1)
train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=60, shuffle=True)
test_x, test_y = x[1200:], y[1200:]

teacher = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 6))
opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(10):
    for xb, yb in train_loader:
        opt.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        opt.step()
teacher.eval()

student = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 6))
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)


def distillation_loss(student_logits, teacher_logits):
    p_student = F.softmax(student_logits / T, dim=-1)
    p_teacher = F.softmax(teacher_logits / T, dim=-1)
    return F.kl_div(p_student, p_teacher, reduction="batchmean") * T * T


for epoch in range(10):
    student.train()
    running = 0.0
    for xb, _ in train_loader:
        with torch.no_grad():
            t_logits = teacher(xb)
        loss = distillation_loss(student(xb), t_logits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()

    student.eval()
    with torch.no_grad():
        acc = (student(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} kd loss {running / len(train_loader):.4f} test acc {acc:.3f}")
