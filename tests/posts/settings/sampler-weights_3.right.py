# line 23: the own sampler draws positions from the weights of the classes (multinomial), so only the first samples are ever drawn
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Lesions(Dataset):
    def __init__(self, n, rare=0.08):
        self.grade = torch.multinomial(torch.tensor([0.7, 0.22, rare]), n, replacement=True)
        self.patch = torch.randn(n, 1, 10, 10) * 0.5 + self.grade.view(-1, 1, 1, 1) * 0.4

    def __len__(self):
        return len(self.grade)

    def __getitem__(self, i):
        return self.patch[i], self.grade[i]


class BalancedSampler(Sampler):
    def __init__(self, labels, per_epoch):
        counts = torch.bincount(labels)
        rarity = counts.sum() / counts.float()
        self.weights = rarity[labels] / rarity[labels].sum()
        self.per_epoch = per_epoch

    def __len__(self):
        return self.per_epoch

    def __iter__(self):
        return iter(torch.multinomial(self.weights, self.per_epoch, replacement=True).tolist())


torch.manual_seed(33)
train, test = Lesions(300), Lesions(100)
loader = DataLoader(train, batch_size=25, sampler=BalancedSampler(train.grade, len(train)))
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for patch, grade in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(patch), grade).backward()
        opt.step()
net.eval()
recall = torch.zeros(3)
with torch.no_grad():
    guess = net(test.patch).argmax(1)
for k in range(3):
    recall[k] = (guess[test.grade == k] == k).float().mean()
print("recall of each grade", recall.tolist())
