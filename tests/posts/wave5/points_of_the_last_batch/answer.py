import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

N_CLASSES = 5
GRID = 16


class PointClouds(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.items = []
        for _ in range(n):
            k = int(torch.randint(60, 120, (1,), generator=g))
            fea = torch.randn(k, 4, generator=g)
            grid = torch.randint(0, GRID, (k, 2), generator=g)
            label = torch.randint(0, N_CLASSES, (GRID, GRID), generator=g)
            self.items.append((fea, grid, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    return [b[0] for b in batch], [b[1] for b in batch], torch.stack([b[2] for b in batch])


class GridSegmentor(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.point = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width))
        self.seg = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, N_CLASSES, 1))

    def forward(self, pt_fea, xy_ind, batch_size):
        counts = [len(p) for p in pt_fea]
        fea = self.point(torch.cat(pt_fea))
        which = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
        xy = torch.cat(xy_ind)
        grid = fea.new_zeros(batch_size, GRID, GRID, self.width)
        grid = grid.index_put((which, xy[:, 0], xy[:, 1]), fea, accumulate=True)
        return self.seg(grid.permute(0, 3, 1, 2))


train_batch_size = 6
loader = DataLoader(PointClouds(20), batch_size=train_batch_size, shuffle=True, collate_fn=collate)
my_model = GridSegmentor()
optimizer = torch.optim.Adam(my_model.parameters(), lr=1e-3)
loss_func = nn.CrossEntropyLoss(ignore_index=255)

for epoch in range(2):
    losses = []
    for pt_fea, grid, labels in loader:
        optimizer.zero_grad()
        outputs = my_model(pt_fea, grid, labels.shape[0])
        loss = loss_func(outputs, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch, "mean loss", sum(losses) / len(losses))
