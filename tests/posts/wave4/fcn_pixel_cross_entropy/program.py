import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class BinSegmentation(Dataset):
    """Objects in a shelf bin, seen from above; label -1 is unlabelled"""
    class_names = np.array(['background', 'bottle', 'box', 'brush', 'cup', 'glove'])

    def __init__(self, n=5, shape=(60, 80)):
        self.n, self.shape = n, shape

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        rng = np.random.RandomState(index)
        img = rng.randint(0, 255, self.shape + (3,)).astype(np.float32)
        img = (img - np.array([104.0, 116.6, 122.7])) / 255
        lbl = rng.randint(-1, len(self.class_names), self.shape)
        return torch.from_numpy(img.transpose(2, 0, 1)).float(), torch.from_numpy(lbl).long()


class FCN(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.score = nn.Conv2d(32, n_class, 1)
        self.up = nn.ConvTranspose2d(n_class, n_class, 4, stride=4, bias=False)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.conv1(x)), 2)
        h = F.max_pool2d(F.relu(self.conv2(h)), 2)
        return self.up(self.score(h))


def cross_entropy2d(score, target):
    # (n, c, h, w) -> (n * h * w, c)
    n, c, h, w = score.size()
    log_p = F.log_softmax(score, dim=1)
    log_p = log_p.transpose(1, 2).transpose(2, 3)
    log_p = log_p.view(-1, c)
    mask = (target >= 0).view(-1)
    return F.nll_loss(log_p[mask], target.view(-1)[mask], reduction='mean')


def main():
    dataset = BinSegmentation()
    loader = DataLoader(dataset, batch_size=2, shuffle=True)
    model = FCN(n_class=len(dataset.class_names))
    optim = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.99, weight_decay=0.0005)
    for epoch in range(2):
        model.train()
        for iteration, (data, target) in enumerate(loader):
            optim.zero_grad()
            score = model(data)
            loss = cross_entropy2d(score, target)
            loss.backward()
            optim.step()
            lbl_pred = score.detach().argmax(dim=1)
            valid = target >= 0
            acc = (lbl_pred[valid] == target[valid]).float().mean().item()
            print(epoch, iteration, round(loss.item(), 4), round(acc, 4))


if __name__ == '__main__':
    main()
