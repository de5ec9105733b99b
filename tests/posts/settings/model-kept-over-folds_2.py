# line 45: leave-one-subject-out: the module-level classifier is passed to each split's training and never rebuilt or reset
import torch
import torch.nn as nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset


class EEGNetTiny(nn.Module):
    def __init__(self, ch=4, classes=2):
        super().__init__()
        self.temporal = nn.Conv1d(ch, 8, 7, padding=3)
        self.out = nn.Linear(8, classes)

    def forward(self, x):
        return self.out(self.temporal(x).pow(2).mean(-1).add(1e-6).log())


def subject(seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(2, (40,), generator=g)
    gain = 0.5 + torch.rand(1, 4, 1, generator=g)
    t = torch.linspace(0, 6.28, 64)
    tone = torch.sin((4 + 6 * y).view(-1, 1, 1) * t)
    return TensorDataset(gain * (tone + torch.randn(40, 4, 64, generator=g)), y)


def train(net, loader, epochs=4):
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    net.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()


@torch.no_grad()
def test(net, part):
    net.eval()
    x, y = part.tensors
    return net(x).argmax(1).eq(y).float().mean().item()


torch.manual_seed(0)
subjects = [subject(s) for s in range(5)]
classifier = EEGNetTiny()
for fold, held_out in enumerate(subjects):
    rest = ConcatDataset([s for s in subjects if s is not held_out])
    train(classifier, DataLoader(rest, 32, shuffle=True))
    print(f"fold {fold}: {test(classifier, held_out):.3f}")
