import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data as data


def detection_collate(batch):
    """Stacks the images and keeps the annotations as a list."""
    targets, imgs = [], []
    for sample in batch:
        imgs.append(sample[0])
        targets.append(torch.as_tensor(sample[1], dtype=torch.float32))
    return torch.stack(imgs, 0), targets


class VOCStyle(data.Dataset):
    def __init__(self, n=10, size=300):
        rng = np.random.RandomState(17)
        self.images = rng.rand(n, size, size, 3).astype(np.float32)
        self.annotations = []
        for i in range(n):
            k = 1 + i % 3
            xy = rng.rand(k, 2) * 0.5
            wh = 0.1 + rng.rand(k, 2) * 0.4
            label = rng.randint(0, 3, (k, 1))
            self.annotations.append(np.hstack([xy, xy + wh, label]))

    def __getitem__(self, index):
        im, gt = self.pull_item(index)
        return im, gt

    def pull_item(self, index):
        img = torch.from_numpy(self.images[index]).permute(2, 0, 1)
        return img, self.annotations[index]

    def __len__(self):
        return len(self.images)


class TinySSD(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        chans = [3, 16, 32, 64, 64]
        self.base = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.ReLU())
                                    for a, b in zip(chans, chans[1:])], nn.AdaptiveAvgPool2d(5))
        self.loc = nn.Conv2d(64, 4, 3, padding=1)
        self.conf = nn.Conv2d(64, num_classes, 3, padding=1)

    def forward(self, x):
        f = self.base(x)
        return self.loc(f).flatten(2).transpose(1, 2), self.conf(f).flatten(2).transpose(1, 2)


def multibox_loss(loc, conf, targets):
    grid = torch.arange(25)
    centers = torch.stack([(grid % 5 + 0.5) / 5, (grid // 5 + 0.5) / 5], 1)
    loss = 0.
    for l, c, t in zip(loc, conf, targets):
        mid = (t[:, :2] + t[:, 2:4]) / 2
        cell = torch.cdist(mid, centers).argmin(1)
        labels = torch.zeros(25, dtype=torch.long)
        labels[cell] = t[:, 4].long() + 1
        loss = loss + F.smooth_l1_loss(l[cell], t[:, :4]) + F.cross_entropy(c, labels)
    return loss / len(targets)


torch.manual_seed(0)
dataset = VOCStyle()
net = TinySSD()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
data_loader = data.DataLoader(dataset, 4, shuffle=True, collate_fn=detection_collate)
for iteration, (images, targets) in enumerate(data_loader):
    loc, conf = net(images)
    loss = multibox_loss(loc, conf, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('iter %d || Loss: %.4f' % (iteration, loss.item()))
