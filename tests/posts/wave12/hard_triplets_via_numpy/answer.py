from __future__ import print_function
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable
from torch.utils.data import Dataset, DataLoader
import torchvision.transforms as transforms

MARGIN = 0.5
EMBEDDING = 32
cuda = torch.cuda.is_available()


class TripletFaces(Dataset):
    def __init__(self, n_people=10, per_person=6, n_triplets=96, transform=None):
        rng = np.random.RandomState(3)
        base = rng.randint(0, 255, (n_people, 1, 32, 32, 3))
        noise = rng.randint(-40, 40, (n_people, per_person, 32, 32, 3))
        self.images = np.clip(base + noise, 0, 255).astype(np.uint8)
        self.transform = transform
        self.triplets = []
        for _ in range(n_triplets):
            p, q = rng.choice(n_people, 2, replace=False)
            i, j = rng.choice(per_person, 2, replace=False)
            self.triplets.append((p, i, j, q, rng.randint(per_person)))

    def __len__(self):
        return len(self.triplets)

    def __getitem__(self, index):
        p, i, j, q, k = self.triplets[index]
        a, pos, neg = self.images[p, i], self.images[p, j], self.images[q, k]
        return self.transform(a), self.transform(pos), self.transform(neg)


class FaceNet(nn.Module):
    def __init__(self, embedding_size):
        super(FaceNet, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(64, embedding_size)

    def forward(self, x):
        x = self.features(x)
        x = self.fc(x.view(x.size(0), -1))
        return F.normalize(x, p=2, dim=1)


class TripletMarginLoss(nn.Module):
    def __init__(self, margin):
        super(TripletMarginLoss, self).__init__()
        self.margin = margin
        self.pdist = nn.PairwiseDistance(2)

    def forward(self, anchor, positive, negative):
        d_p = self.pdist(anchor, positive)
        d_n = self.pdist(anchor, negative)
        return torch.clamp(self.margin + d_p - d_n, min=0.0).mean()


def to_device(x):
    return x.cuda() if cuda else x


def train(loader, model, optimizer, epoch):
    model.train()
    l2_dist = nn.PairwiseDistance(2)
    criterion = TripletMarginLoss(MARGIN)
    for batch_idx, (data_a, data_p, data_n) in enumerate(loader):
        data_a = Variable(to_device(data_a))
        data_p = Variable(to_device(data_p))
        data_n = Variable(to_device(data_n))

        out_a, out_p, out_n = model(data_a), model(data_p), model(data_n)

        d_p = l2_dist(out_a, out_p)
        d_n = l2_dist(out_a, out_n)
        hard = (d_n - d_p < MARGIN).cpu().data.numpy().flatten()
        hard_idx = np.where(hard == 1)[0]
        if len(hard_idx) == 0:
            continue
        sel_a = out_a[hard_idx]
        sel_p = out_p[hard_idx]
        sel_n = out_n[hard_idx]
        loss = criterion(sel_a, sel_p, sel_n)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('Train Epoch: {} [{}] loss {:.4f} hard {}'.format(
            epoch, batch_idx, loss.item(), len(hard_idx)))


def main():
    torch.manual_seed(0)
    transform = transforms.Compose([
        transforms.ToTensor(),
        transforms.Normalize([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])])
    loader = DataLoader(TripletFaces(transform=transform), batch_size=32, shuffle=True)
    model = to_device(FaceNet(EMBEDDING))
    optimizer = optim.Adagrad(model.parameters(), lr=0.01, lr_decay=1e-4)
    for epoch in range(2):
        train(loader, model, optimizer, epoch)


if __name__ == '__main__':
    main()
