import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class DistillationLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.7):
        super().__init__()
        self.T, self.alpha = temperature, alpha
        self.kl = nn.KLDivLoss(reduction="batchmean")
        self.ce = nn.CrossEntropyLoss()

    def forward(self, student_logits, teacher_logits, labels):
        soft_teacher = F.softmax(teacher_logits / self.T, dim=1)
        soft_student = F.softmax(student_logits / self.T, dim=1)
        kd = self.kl(soft_student, soft_teacher) * self.T ** 2
        return self.alpha * kd + (1 - self.alpha) * self.ce(student_logits, labels)


def train_teacher(teacher, loader, epochs=4):
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(x).argmax(1) == y).float().sum().item() for x, y in loader) / len(loader.dataset)


torch.manual_seed(0)
x = torch.randn(600, 10)
y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] > 0.5).long()
train_loader = DataLoader(TensorDataset(x[:500], y[:500]), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(x[500:], y[500:]), batch_size=50)

teacher, student = mlp([10, 128, 128, 4]), mlp([10, 24, 4])
train_teacher(teacher, train_loader)
teacher.eval()
criterion = DistillationLoss()
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(6):
    student.train()
    for xb, yb in train_loader:
        with torch.no_grad():
            t_logits = teacher(xb)
        loss = criterion(student(xb), t_logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} student acc {accuracy(student, test_loader):.3f}")
