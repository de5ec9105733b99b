import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

# ---------------------------------------------------------------- data
torch.manual_seed(1)
n_ids = 12
centers = torch.randn(n_ids, 1, 32, 32)
ids = torch.arange(n_ids).repeat_interleave(20)
faces = centers[ids] + 0.5 * torch.randn(len(ids), 1, 32, 32)
perm = torch.randperm(len(ids))
faces, ids = faces[perm], ids[perm]
train_ds = TensorDataset(faces[:200], ids[:200])
gallery, gallery_ids = faces[:200], ids[:200]
probe, probe_ids = faces[200:], ids[200:]


# ---------------------------------------------------------------- model
class FaceNet(nn.Module):
    def __init__(self, emb=64, num_classes=n_ids):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.PReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.PReLU(),
            nn.Flatten(),
            nn.Linear(32 * 8 * 8, emb),
        )
        self.weight = nn.Parameter(torch.empty(num_classes, emb))
        nn.init.xavier_uniform_(self.weight)

    def embed(self, x):
        return F.normalize(self.backbone(x), dim=1)

    def forward(self, x):
        return F.linear(self.embed(x), F.normalize(self.weight, dim=1))


class ArcMargin(nn.Module):
    def __init__(self, s=16.0, m=0.2):
        super().__init__()
        self.s, self.m = s, m

    def forward(self, cosine, target):
        theta = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
        one_hot = F.one_hot(target, cosine.size(1)).bool()
        logits = torch.where(one_hot, torch.cos(theta + self.m), cosine)
        return F.cross_entropy(self.s * logits, target)


# ---------------------------------------------------------------- train / test
def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    meter = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter += loss.item() * x.size(0)
    return meter / len(loader.dataset)


@torch.no_grad()
def rank1(model):
    model.eval()
    net = model.module
    g = net.embed(gallery.to(device))
    p = net.embed(probe.to(device))
    nearest = (p @ g.t()).argmax(dim=1).cpu()
    return (gallery_ids[nearest] == probe_ids).float().mean().item()


model = nn.DataParallel(FaceNet()).to(device)
criterion = ArcMargin()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3], gamma=0.1)
loader = DataLoader(train_ds, batch_size=40, shuffle=True)

for epoch in range(4):
    loss = train_one_epoch(model, loader, criterion, optimizer)
    scheduler.step()
    print('epoch %d  loss %.4f  rank-1 %.4f' % (epoch, loss, rank1(model)))
