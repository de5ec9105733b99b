# line 32: the list times two holds one network twice, so student and teacher are the same module
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_net():
    return nn.Sequential(
        nn.Conv1d(2, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 3),
    )


def average_into(teacher, student, keep):
    new, now = teacher.state_dict(), student.state_dict()
    teacher.load_state_dict({key: keep * new[key] + (1 - keep) * now[key] for key in new})


def jitter(signal):
    return signal + 0.2 * torch.randn_like(signal)


def sleep_stages(n):
    stage = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 6.28, 50)
    phase = 6.28 * torch.rand(n, 2, 1)
    return torch.sin((2 + 3 * stage)[:, None, None] * t + phase) + 0.4 * torch.randn(n, 2, 50), stage


def main():
    torch.manual_seed(1)
    student, teacher = [make_net()] * 2
    teacher.load_state_dict(student.state_dict())
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    labelled, stage = sleep_stages(60)
    unlabelled, _ = sleep_stages(400)
    for epoch in range(6):
        student.train()
        for rows in torch.randperm(400).split(40):
            few = torch.randperm(60)[:20]
            supervised = F.cross_entropy(student(jitter(labelled[few])), stage[few])
            with torch.no_grad():
                belief = teacher(jitter(unlabelled[rows])).softmax(dim=1)
            consistency = F.mse_loss(student(jitter(unlabelled[rows])).softmax(dim=1), belief)
            optimizer.zero_grad()
            (supervised + 2.0 * consistency).backward()
            optimizer.step()
            average_into(teacher, student, keep=0.95)

    student.eval()
    teacher.eval()
    x, y = sleep_stages(200)
    with torch.no_grad():
        for name, net in (("student", student), ("teacher", teacher)):
            print(name, (net(x).argmax(1) == y).float().mean().item())


main()
