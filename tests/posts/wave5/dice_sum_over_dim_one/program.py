import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

NUM_ORGANS = 3


class Volumes(Dataset):
    def __init__(self, n=8, size=12):
        self.x = torch.randn(n, 1, size, size, size)
        self.y = (torch.rand(n, NUM_ORGANS, size, size, size) > 0.8).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BinaryDiceLoss(nn.Module):
    def __init__(self, smooth=1):
        super(BinaryDiceLoss, self).__init__()
        self.smooth = smooth

    def forward(self, predict, target):
        assert predict.shape[0] == target.shape[0], "predict & target batch size don't match"
        predict = predict.contiguous().view(-1)
        target = target.contiguous().view(-1)
        num = torch.sum(predict * target, dim=1)
        den = torch.sum(predict, dim=1) + torch.sum(target, dim=1) + self.smooth
        return 1 - 2 * num / den


class DiceLoss(nn.Module):
    def __init__(self):
        super(DiceLoss, self).__init__()
        self.dice = BinaryDiceLoss()

    def forward(self, predict, target):
        total = []
        predict = torch.sigmoid(predict)
        for b in range(predict.shape[0]):
            for organ in range(predict.shape[1]):
                total.append(self.dice(predict[b, organ], target[b, organ]))
        return torch.stack(total).mean()


model = nn.Sequential(
    nn.Conv3d(1, 6, 3, padding=1), nn.InstanceNorm3d(6), nn.ReLU(),
    nn.Conv3d(6, NUM_ORGANS, 1))
loader = DataLoader(Volumes(), batch_size=2, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_seg = DiceLoss()

for epoch in range(2):
    for step, (x, y) in enumerate(loader):
        logit = model(x)
        term = loss_seg(logit, y)
        optimizer.zero_grad()
        term.backward()
        optimizer.step()
    print("Epoch=%d: dice_loss=%.4f" % (epoch, term.item()))
