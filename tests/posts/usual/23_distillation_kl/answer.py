import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_net(width):
    return nn.Sequential(
        nn.Linear(40, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 8),
    )


# toy problem with 8 classes
centers = torch.randn(8, 40)
y_all = torch.randint(0, 8, (1600,))
x_all = centers[y_all] + 1.5 * torch.randn(1600, 40)
train_loader = DataLoader(TensorDataset(x_all[:1200], y_all[:1200]), batch_size=64, shuffle=True)
x_test, y_test = x_all[1200:], y_all[1200:]


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return (net(x_test).argmax(1) == y_test).float().mean().item()


teacher = make_net(256)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for epoch in range(5):
    teacher.train()
    for x, y in train_loader:
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
print("teacher acc", accuracy(teacher))


class DistillationLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.7):
        super().__init__()
        self.T = temperature
        self.alpha = alpha
        self.kl = nn.KLDivLoss(reduction="batchmean")

    def forward(self, student_logits, teacher_logits, labels):
        soft_student = F.log_softmax(student_logits / self.T, dim=1)
        soft_teacher = F.softmax(teacher_logits / self.T, dim=1)
        soft_loss = self.kl(soft_student, soft_teacher) * self.T ** 2
        hard_loss = F.cross_entropy(student_logits, labels)
        return self.alpha * soft_loss + (1 - self.alpha) * hard_loss


student = make_net(16)
criterion = DistillationLoss()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
teacher.eval()
for epoch in range(10):
    student.train()
    total = 0.0
    for x, y in train_loader:
        with torch.no_grad():
            t_logits = teacher(x)
        s_logits = student(x)
        loss = criterion(s_logits, t_logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(train_loader):.4f} student acc {accuracy(student):.3f}")
