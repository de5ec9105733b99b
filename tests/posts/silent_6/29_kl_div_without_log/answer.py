import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TEMPERATURE = 3.0
ALPHA = 0.9


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    ring = x[:, :2].norm(dim=1)
    y = torch.bucketize(ring + 0.5 * torch.sin(2 * x[:, 2]), torch.tensor([0.7, 1.3, 2.0]))
    return x, y


def mlp(width, depth):
    layers, n_in = [], 10
    for _ in range(depth):
        layers += [nn.Linear(n_in, width), nn.ReLU()]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, 4))


def distillation_loss(student_logits, teacher_logits, labels):
    p_student = F.log_softmax(student_logits / TEMPERATURE, dim=1)
    p_teacher = F.softmax(teacher_logits / TEMPERATURE, dim=1)
    soft = F.kl_div(p_student, p_teacher, reduction="batchmean") * TEMPERATURE ** 2
    hard = F.cross_entropy(student_logits, labels)
    return ALPHA * soft + (1 - ALPHA) * hard


def fit(model, loader, epochs, loss_fn, lr=3e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for _ in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model, x, y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def score(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    x, y = make_data(3000, seed=1)
    x_test, y_test = make_data(1000, seed=2)
    loader = DataLoader(TensorDataset(x, y), batch_size=100, shuffle=True)

    def plain(model, xb, yb):
        return F.cross_entropy(model(xb), yb)

    teacher = mlp(64, 2)
    fit(teacher, loader, 12, plain)
    print(f"teacher                    acc {score(teacher, x_test, y_test):.3f}")

    def distil(model, xb, yb):
        with torch.no_grad():
            teacher_logits = teacher(xb)
        return distillation_loss(model(xb), teacher_logits, yb)

    for name, loss_fn in (("student on labels", plain), ("student with distillation", distil)):
        torch.manual_seed(5)
        student = mlp(16, 1)
        last = fit(student, loader, 25, loss_fn)
        print(f"{name:26s} acc {score(student, x_test, y_test):.3f} loss {last:.3f}")


if __name__ == "__main__":
    main()
