# line 22: the distillation kl_div gets the student's probabilities instead of its log-probabilities
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

settings = {"T": 3.0, "alpha": 0.6, "lr": 0.01, "epochs": 3}


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def soften(scores, T):
    return torch.exp(F.log_softmax(scores / T, dim=1))


def distill_loss(student_out, teacher_out, hard, T, alpha):
    soft = F.kl_div(soften(student_out, T), soften(teacher_out, T), reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(student_out, hard)


torch.manual_seed(4)
X = torch.randn(300, 8)
Y = (X[:, :3].argmax(1))
loader = DataLoader(TensorDataset(X, Y), batch_size=30, shuffle=True)

teacher = mlp(8, 64, 3)
opt_t = torch.optim.Adam(teacher.parameters(), lr=settings["lr"])
for _ in range(settings["epochs"]):
    for xb, yb in loader:
        opt_t.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        opt_t.step()
teacher.eval().requires_grad_(False)

student = mlp(8, 6, 3)
opt_s = torch.optim.Adam(student.parameters(), lr=settings["lr"])
for _ in range(settings["epochs"]):
    for xb, yb in loader:
        with torch.no_grad():
            t = teacher(xb)
        loss = distill_loss(student(xb), t, yb, settings["T"], settings["alpha"])
        opt_s.zero_grad()
        loss.backward()
        opt_s.step()
student.eval()
with torch.no_grad():
    print("student", (student(X).argmax(1) == Y).float().mean().item())
