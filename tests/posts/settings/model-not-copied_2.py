# line 14: make_teacher returns the student itself, so the average of weights is the student
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(63)


def make_student(bands):
    return nn.Sequential(nn.Linear(bands, 32), nn.ReLU(), nn.Linear(32, 4))


def make_teacher(network):
    shadow = nn.ModuleDict({"net": network})
    return shadow["net"]


@torch.no_grad()
def follow(teacher, student, keep):
    for slow, fast in zip(teacher.parameters(), student.parameters()):
        slow.copy_(keep * slow + (1 - keep) * fast)


def jitter(x):
    return x + 0.2 * torch.randn_like(x)


spectra = torch.randn(400, 18)
mineral = (spectra[:, :4] + spectra[:, 4:8]).argmax(1)
labelled = torch.arange(40)
student = make_student(18)
teacher = make_teacher(student)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for epoch in range(6):
    student.train()
    for rows in torch.randperm(320).split(40):
        few = labelled[torch.randint(40, (20,))]
        with torch.no_grad():
            wanted = F.softmax(teacher(jitter(spectra[rows])), dim=1)
        guess = F.softmax(student(jitter(spectra[rows])), dim=1)
        loss = F.cross_entropy(student(spectra[few]), mineral[few]) + F.mse_loss(guess, wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        follow(teacher, student, 0.98)
    teacher.eval()
    with torch.no_grad():
        hits = (teacher(spectra[320:]).argmax(1) == mineral[320:]).sum().item()
    print(epoch, hits / 80)
