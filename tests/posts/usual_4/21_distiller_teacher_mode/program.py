"""Compress a keyword-spotting CNN into a tiny student (knowledge distillation)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_WORDS, N_MELS, FRAMES = 8, 20, 32


def make_clips(n, seed):
    g = torch.Generator().manual_seed(seed)
    templates = torch.randn(N_WORDS, 1, N_MELS, FRAMES, generator=torch.Generator().manual_seed(77))
    y = torch.randint(0, N_WORDS, (n,), generator=g)
    x = 0.35 * templates[y] + torch.randn(n, 1, N_MELS, FRAMES, generator=g)
    return TensorDataset(x, y)


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Teacher(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.features = nn.Sequential(conv_bn(1, width), conv_bn(width, width, 2), nn.Dropout2d(0.2),
                                      conv_bn(width, 2 * width, 2), nn.AdaptiveAvgPool2d((3, 4)), nn.Flatten())
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Linear(2 * width * 12, N_WORDS))

    def forward(self, x):
        return self.classifier(self.features(x))


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(conv_bn(1, 8, 2), conv_bn(8, 12, 2), nn.AdaptiveAvgPool2d((3, 4)), nn.Flatten(),
                                 nn.Linear(144, N_WORDS))

    def forward(self, x):
        return self.net(x)


class Distiller(nn.Module):
    def __init__(self, teacher, student, temperature=3.0, alpha=0.3):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.T, self.alpha = temperature, alpha
        self.teacher.eval()
        for p in self.teacher.parameters():
            p.requires_grad_(False)

    def forward(self, x, y):
        s_logits = self.student(x)
        with torch.no_grad():
            t_logits = self.teacher(x)
        hard = F.cross_entropy(s_logits, y)
        soft = F.kl_div(F.log_softmax(s_logits / self.T, dim=1), F.softmax(t_logits / self.T, dim=1),
                        reduction="batchmean") * self.T ** 2
        return self.alpha * hard + (1 - self.alpha) * soft


@torch.no_grad()
def accuracy(net, loader):
    net.eval()
    return sum((net(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


def train_teacher(teacher, loader, epochs):
    opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)
    for _ in range(epochs):
        teacher.train()
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            opt.step()


def distill(teacher, student, train_loader, test_loader, epochs):
    distiller = Distiller(teacher, student)
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    for epoch in range(epochs):
        distiller.train()
        total = 0.0
        for x, y in train_loader:
            loss = distiller(x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print(f"distill {epoch}: loss {total / len(train_loader.dataset):.4f}"
              f"  student {accuracy(student, test_loader):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(make_clips(768, 1), batch_size=32, shuffle=True)
    test_loader = DataLoader(make_clips(256, 2), batch_size=64)
    teacher, student = Teacher(), Student()
    train_teacher(teacher, train_loader, epochs=4)
    print(f"teacher before {accuracy(teacher, test_loader):.3f}")
    distill(teacher, student, train_loader, test_loader, epochs=5)
    print(f"teacher after  {accuracy(teacher, test_loader):.3f}")
