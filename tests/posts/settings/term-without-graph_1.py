# line 13: the dice term is computed of the thresholded mask, so it has no gradient
import torch
import torch.nn as nn


class DiceBCE(nn.Module):
    def __init__(self, w_dice=0.5, smooth=1.0):
        super().__init__()
        self.bce = nn.BCEWithLogitsLoss()
        self.w_dice, self.smooth = w_dice, smooth

    def dice(self, probs, target):
        pred = (probs > 0.5).type_as(probs)
        inter = (pred * target).sum(dim=(1, 2, 3))
        union = pred.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
        return 1 - ((2 * inter + self.smooth) / (union + self.smooth)).mean()

    def forward(self, scores, target):
        ce = self.bce(scores, target)
        return (1 - self.w_dice) * ce + self.w_dice * self.dice(scores.sigmoid(), target)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv2d(8, 1, 1),
        )

    def forward(self, x):
        return self.seq(x)


def vessels(n):
    m = torch.zeros(n, 1, 20, 20)
    for k in range(n):
        c = int(torch.randint(3, 17, (1,)))
        m[k, 0, :, c - 1:c + 1] = 1
    return m * 0.8 + 0.4 * torch.randn_like(m), m


torch.manual_seed(0)
net, objective = Net(), DiceBCE()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(40):
    img, mask = vessels(8)
    loss = objective(net(img), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, loss.item())
net.eval()
with torch.no_grad():
    img, mask = vessels(20)
    print("error", ((net(img) > 0) != mask.bool()).float().mean().item())
