# line 36: the confusion matrix gets the counts once after the loop, those of the last batch
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = ["walk", "run", "sit", "jump"]


class MotionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 16, 5, stride=2)
        self.fc = nn.Linear(16, len(CLASSES))

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean(dim=-1))


def batches(n, size, shuffle):
    label = torch.arange(n) % len(CLASSES)
    t = torch.arange(40.0)
    wave = torch.sin((0.2 + 0.25 * label)[:, None, None] * t + 6.28 * torch.rand(n, 3, 1))
    wave = wave + 0.3 * torch.randn_like(wave)
    order = torch.randperm(n) if shuffle else torch.arange(n)
    return [(wave[rows], label[rows]) for rows in order.split(size)]


def per_class_recall(net, data):
    k = len(CLASSES)
    confusion = torch.zeros(k, k, dtype=torch.long)
    net.eval()
    for wave, label in data:
        with torch.inference_mode():
            guess = net(wave).argmax(dim=1)
        cells = torch.bincount(label * k + guess, minlength=k * k).view(k, k)
    confusion += cells
    recall = confusion.diagonal() / confusion.sum(dim=1).clamp(min=1)
    return {name: round(value, 3) for name, value in zip(CLASSES, recall.tolist())}, confusion.sum().item()


torch.manual_seed(3)
net = MotionNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(6):
    net.train()
    total, n = 0.0, 0
    for wave, label in batches(320, 32, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(wave), label)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(label)
        n += len(label)
    print(epoch, "loss", total / n)
recall, counted = per_class_recall(net, batches(120, 40, shuffle=False))
print("recall", recall, "of", counted, "recordings")
