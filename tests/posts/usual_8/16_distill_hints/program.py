"""
FitNets-style distillation: the student imitates the teacher's soft labels and its middle feature map.
    python distill.py --alpha 0.7 --temperature 4 --beta 50
"""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--alpha", type=float, default=0.7)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--temperature", type=float, default=4.0)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=50)
    return p.parse_args()


def glyphs(n, seed):
    """Ten random 5x5 glyphs, enlarged to 20x20, shifted and with noise."""
    g = np.random.default_rng(99).integers(0, 2, size=(10, 5, 5))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 10, n)
    x = np.zeros((n, 1, 28, 28), dtype=np.float32)
    for i, k in enumerate(y):
        r, c = rng.integers(0, 9, 2)
        x[i, 0, r:r + 20, c:c + 20] = np.kron(g[k], np.ones((4, 4)))
    x += rng.normal(0, 0.3, x.shape)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))


def stage(cin, cout, stride):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
                         nn.BatchNorm2d(cout), nn.ReLU())


class ConvNet(nn.Module):
    def __init__(self, widths, num_classes=10):
        super().__init__()
        w1, w2, w3 = widths
        self.stage1 = stage(1, w1, 2)
        self.stage2 = stage(w1, w2, 2)
        self.stage3 = stage(w2, w3, 2)
        self.fc = nn.Linear(w3, num_classes)

    def forward(self, x):
        hint = self.stage2(self.stage1(x))
        out = self.stage3(hint).mean(dim=(2, 3))
        return self.fc(out), hint


def accuracy(net, loader):
    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x)[0].argmax(1) == y).sum().item()
    return hits / len(loader.dataset)


def train_teacher(net, loader, epochs):
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            loss = F.cross_entropy(net(x)[0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()


class DistillLoss(nn.Module):
    def __init__(self, alpha, beta, T):
        super().__init__()
        self.alpha, self.beta, self.T = alpha, beta, T

    def forward(self, s_logits, s_hint, t_logits, t_hint, y):
        hard = F.cross_entropy(s_logits, y)
        soft = F.kl_div(F.log_softmax(s_logits / self.T, dim=1), F.softmax(t_logits / self.T, dim=1),
                        reduction="batchmean") * self.T ** 2
        hint = F.mse_loss(s_hint, t_hint)
        return (1 - self.alpha) * hard + self.alpha * soft + self.beta * hint


def main():
    args = get_args()
    torch.manual_seed(0)
    train_loader = DataLoader(glyphs(1000, 0), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(glyphs(300, 1), batch_size=100)

    teacher = ConvNet((32, 64, 128))
    train_teacher(teacher, train_loader, args.epochs)
    print(f"teacher {accuracy(teacher, test_loader):.3f}")
    teacher.eval()

    student = ConvNet((8, 16, 32))
    criterion = DistillLoss(args.alpha, args.beta, args.temperature)
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        student.train()
        for x, y in train_loader:
            with torch.no_grad():
                t_logits, t_hint = teacher(x)
            s_logits, s_hint = student(x)
            loss = criterion(s_logits, s_hint, t_logits, t_hint, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: student {accuracy(student, test_loader):.3f}")


if __name__ == "__main__":
    main()
