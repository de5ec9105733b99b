import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, ConcatDataset

TASKS = {0: ['liver', 'spleen', 'pancreas', 'kidney'], 1: ['liver'], 2: ['spleen'], 3: ['pancreas'], 4: ['kidney']}
ALL = TASKS[0]


class OrganVolumes(Dataset):
    def __init__(self, task, n=8, size=16):
        g = torch.Generator().manual_seed(task)
        self.task = task
        self.volumes = torch.randn(n, 1, size, size, size, generator=g)
        self.labels = torch.zeros(n, 1, size, size, size, dtype=torch.long)
        for i in range(n):
            for organ in TASKS[task]:
                value = ALL.index(organ) + 1
                a = torch.randint(0, size - 6, (3,), generator=g)
                region = tuple(slice(int(k), int(k) + 5) for k in a)
                self.labels[(i, 0) + region] = value
                self.volumes[(i, 0) + region] += value

    def __len__(self):
        return len(self.volumes)

    def __getitem__(self, i):
        return self.volumes[i], self.labels[i], self.task


class TaskBatchSampler:
    def __init__(self, sizes, batch_size):
        self.batches = []
        start = 0
        for n in sizes:
            self.batches += [list(range(start + i, start + min(i + batch_size, n))) for i in range(0, n, batch_size)]
            start += n

    def __iter__(self):
        order = torch.randperm(len(self.batches)).tolist()
        return iter(self.batches[i] for i in order)

    def __len__(self):
        return len(self.batches)


def onehot_transform(tensor, depth):
    assert torch.max(tensor) < depth, f'{int(torch.max(tensor))}/{depth}'
    return F.one_hot(tensor.squeeze(1), depth).permute(0, 4, 1, 2, 3).float()


def merge_prob(prob, task):
    if len(TASKS[task]) == len(ALL):
        return prob
    keep = [ALL.index(o) + 1 for o in TASKS[task]]
    rest = [c for c in range(prob.shape[1]) if c not in keep]
    return torch.cat([prob[:, rest].sum(1, keepdim=True), prob[:, keep]], dim=1)


def marginal_dice(logits, target, task):
    prob = merge_prob(logits.softmax(1), task)
    target_onehot = onehot_transform(target, len(TASKS[task]) + 1)
    inter = (prob * target_onehot).sum((2, 3, 4))
    union = (prob + target_onehot).sum((2, 3, 4))
    return 1 - (2 * inter / (union + 1e-5)).mean()


class UNet3D(nn.Module):
    def __init__(self, classes=len(ALL) + 1, f=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv3d(1, f, 3, padding=1), nn.InstanceNorm3d(f), nn.LeakyReLU())
        self.mid = nn.Sequential(nn.Conv3d(f, 2 * f, 3, stride=2, padding=1), nn.LeakyReLU(),
                                 nn.ConvTranspose3d(2 * f, f, 2, stride=2))
        self.out = nn.Conv3d(2 * f, classes, 1)

    def forward(self, x):
        d = self.down(x)
        return self.out(torch.cat([d, self.mid(d)], 1))


def main(epochs=2):
    torch.manual_seed(0)
    sets = [OrganVolumes(t) for t in TASKS]
    loader = DataLoader(ConcatDataset(sets), batch_sampler=TaskBatchSampler([len(s) for s in sets], 4))
    model = UNet3D()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        total = 0
        for volume, label, task in loader:
            loss = marginal_dice(model(volume), label, int(task[0]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, round(total / len(loader), 4))


if __name__ == '__main__':
    main()
