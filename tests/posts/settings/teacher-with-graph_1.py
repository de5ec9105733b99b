# line 33: the features of the teacher are a target of the distance loss with their graph and the teacher is trained along
import torch
import torch.nn as nn


class ConvNet(nn.Module):
    def __init__(self, widths, classes=4):
        super().__init__()
        layers, last = [], 1
        for w in widths:
            layers += [nn.Conv2d(last, w, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            last = w
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(last, classes)

    def forward(self, x):
        f = self.features(x).mean((2, 3))
        return f, self.classifier(f)


class JointDistiller:
    """Teacher and student are trained side by side, the student imitates the features."""

    def __init__(self, lr):
        self.teacher, self.student = ConvNet([16, 24]), ConvNet([6, 24])
        weights = [*self.teacher.parameters(), *self.student.parameters()]
        self.opt = torch.optim.Adam(weights, lr=lr)
        self.ce = nn.CrossEntropyLoss()

    def step(self, x, y):
        teacher_feat, teacher_logits = self.teacher(x)
        student_feat, student_logits = self.student(x)
        hint = torch.linalg.vector_norm(student_feat - teacher_feat, dim=1).mean()
        loss = self.ce(teacher_logits, y) + self.ce(student_logits, y) + 0.5 * hint
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return hint.item()


torch.manual_seed(27)
x, y = torch.randn(160, 1, 12, 12), torch.randint(4, (160,))
x[:, 0, 0] += y[:, None].float()
distiller = JointDistiller(2e-3)
for epoch in range(3):
    for rows in torch.randperm(160).split(32):
        hint = distiller.step(x[rows], y[rows])
    print(epoch, "hint", hint)
