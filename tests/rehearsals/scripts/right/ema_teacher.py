import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def shapes(count, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, count)
    image = rng.normal(0, 0.3, (count, 1, 20, 20))
    for i, k in enumerate(kind):
        image[i, 0, 4 * k + 2:4 * k + 6] += 1
    return torch.tensor(image, dtype=torch.float32), torch.tensor(kind)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 5, stride=2)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 8 * 8, 3)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).flatten(1))


class EMA:
    def __init__(self, model, decay=0.9):
        self.module = copy.deepcopy(model)
        self.module.eval()
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for ours, theirs in zip(self.module.parameters(), model.parameters()):
            ours.mul_(self.decay).add_(theirs, alpha=1 - self.decay)
        for ours, theirs in zip(self.module.buffers(), model.buffers()):
            ours.copy_(theirs)


def main():
    torch.manual_seed(0)
    x, y = shapes(40, 0)
    unlabelled, _ = shapes(80, 1)
    labelled_loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
    unlabelled_loader = DataLoader(TensorDataset(unlabelled), batch_size=20, shuffle=True)
    student = Net()
    teacher = EMA(student)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in range(3):
        student.train()
        for (x, y), (u,) in zip(labelled_loader, unlabelled_loader):
            noisy = u + 0.1 * torch.randn_like(u)
            with torch.no_grad():
                target = teacher.module(u).softmax(dim=1)
            loss = F.cross_entropy(student(x), y)
            loss = loss + F.mse_loss(student(noisy).softmax(dim=1), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            teacher.update(student)
        test_x, test_y = shapes(30, 2)
        with torch.no_grad():
            accuracy = (teacher.module(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} teacher {accuracy:.3f}")
    torch.save({"student": student.state_dict(), "teacher": teacher.module.state_dict()}, "ema.pt")


if __name__ == "__main__":
    main()
