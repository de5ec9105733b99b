import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

SEED, EPOCHS, BATCH = 0, 4, 40
TEMPERATURE, ALPHA = 3.0, 0.7
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

# ---------------------------------------------------------------- data
margin = np.random.randn(6, 64)
species = np.random.randint(0, 6, 650)
shape = margin[species] + 1.5 * np.random.randn(650, 64)
X = torch.from_numpy(shape.astype('float32'))
Y = torch.from_numpy(species)
train_data = DataLoader(TensorDataset(X[:500], Y[:500]), BATCH, shuffle=True)
test_data = DataLoader(TensorDataset(X[500:], Y[500:]), BATCH)


# ---------------------------------------------------------------- models
def teacher_net():
    return nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 6))


def student_net():
    return nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 6))


def accuracy(net):
    net.eval()
    with torch.no_grad():
        ok = [(net(x).argmax(1) == y).float() for x, y in test_data]
    return torch.cat(ok).mean().item()


# ---------------------------------------------------------------- teacher
def train_teacher(net):
    optim = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(EPOCHS):
        net.train()
        for x, y in train_data:
            optim.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optim.step()
        print('teacher', epoch, round(loss.item(), 4), round(accuracy(net), 4))


def kd_loss(s_logits, t_logits, y):
    soft = F.kl_div(F.log_softmax(s_logits / TEMPERATURE, dim=1),
                    F.softmax(t_logits / TEMPERATURE, dim=1), reduction='batchmean')
    return ALPHA * soft * TEMPERATURE ** 2 + (1 - ALPHA) * F.cross_entropy(s_logits, y)


# ---------------------------------------------------------------- student
def train_student(student, teacher):
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad = False
    optim = torch.optim.SGD(student.parameters(), lr=0.02)
    for epoch in range(EPOCHS):
        student.train()
        total = 0.0
        for x, y in train_data:
            with torch.no_grad():
                t_logits = teacher(x)
            loss = kd_loss(student(x), t_logits, y)
            loss.backward()
            optim.step()
            total += loss.item() * x.size(0)
        print('student', epoch, round(total / len(train_data.dataset), 4), round(accuracy(student), 4))


teacher, student = teacher_net(), student_net()
train_teacher(teacher)
train_student(student, teacher)
torch.save(student.state_dict(), 'student.pt')
