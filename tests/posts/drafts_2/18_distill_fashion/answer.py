import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)

N_CLASSES = 6
TEMPERATURE = 4.0
ALPHA = 0.7
prototypes = torch.randn(N_CLASSES, 1, 20, 20)


def make_clothes(n):
    y = torch.randint(0, N_CLASSES, (n,))
    x = prototypes[y] + 1.5 * torch.randn(n, 1, 20, 20)
    return TensorDataset(x, y)


def make_teacher():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 5 * 5, N_CLASSES),
    )


def make_student():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(8 * 5 * 5, N_CLASSES),
    )


def distillation_loss(student_logits, teacher_logits, labels):
    soft = F.kl_div(
        F.log_softmax(student_logits / TEMPERATURE, dim=1),
        F.softmax(teacher_logits / TEMPERATURE, dim=1),
        reduction="batchmean",
    )
    hard = F.cross_entropy(student_logits, labels)
    return ALPHA * TEMPERATURE ** 2 * soft + (1 - ALPHA) * hard


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


train_loader = DataLoader(make_clothes(600), batch_size=50, shuffle=True)
test_loader = DataLoader(make_clothes(200), batch_size=50)
checkpoint_dir = tempfile.TemporaryDirectory()
teacher_path = os.path.join(checkpoint_dir.name, "teacher.pt")

# train the teacher
teacher = make_teacher()
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-3)
for epoch in range(2):
    teacher.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()
    print(f"teacher epoch {epoch + 1}: acc {evaluate(teacher, test_loader):.3f}")
torch.save({"model": teacher.state_dict(), "epoch": epoch + 1}, teacher_path)

# distil it into the student
teacher = make_teacher()
teacher.load_state_dict(torch.load(teacher_path)["model"])
teacher.eval()
student = make_student()
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)

for epoch in range(5):
    student.train()
    total = 0.0
    for x, y in train_loader:
        with torch.no_grad():
            teacher_logits = teacher(x)
        student_logits = student(x)
        loss = distillation_loss(student_logits, teacher_logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"student epoch {epoch + 1}: loss {total / len(train_loader):.3f} acc {evaluate(student, test_loader):.3f}")

checkpoint_dir.cleanup()
