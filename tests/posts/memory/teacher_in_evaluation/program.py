import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, n, height, width):
        self.n = n
        self.shape = (1, height, width)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        hr = torch.rand(self.shape)
        return F.avg_pool2d(hr, 2), hr


class Teacher(nn.Module):
    def __init__(self, width=64, depth=11):
        super().__init__()
        self.head = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(depth)])
        self.mix = nn.Conv2d(width * depth, 32, 1)
        self.encode = nn.Conv2d(32, 1, 4, stride=2, padding=1)
        self.student = Student()

    def forward(self, hr):
        x = F.relu(self.head(hr))
        feats = []
        for block in self.blocks:
            x = F.relu(block(x))
            feats.append(x)
        feats = torch.cat(feats, dim=1)
        lr = self.encode(F.relu(self.mix(feats)))
        return self.student(lr)


class Student(nn.Module):
    def __init__(self, d=56, s=12, m=4):
        super().__init__()
        layers = [nn.Conv2d(1, d, 5, padding=2), nn.PReLU(), nn.Conv2d(d, s, 1), nn.PReLU()]
        for _ in range(m):
            layers += [nn.Conv2d(s, s, 3, padding=1), nn.PReLU()]
        layers += [nn.Conv2d(s, d, 1), nn.PReLU()]
        self.body = nn.Sequential(*layers)
        self.up = nn.ConvTranspose2d(d, 1, 9, stride=2, padding=4, output_padding=1)

    def forward(self, lr):
        return self.up(self.body(lr))


def evaluate(loader, teacher, student):
    psnr = []
    with torch.no_grad():
        for lr, hr in loader:
            lr, hr = lr.to(device), hr.to(device)
            target = teacher(hr)
            sr = student(lr)
            mse = F.mse_loss(sr.clamp(0, 1), hr)
            psnr.append((-10 * torch.log10(mse)).item())
    return sum(psnr) / len(psnr)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_loader = DataLoader(Pairs(800, 96, 96), batch_size=16, shuffle=True)
val_loader = DataLoader(Pairs(20, 1404, 2040), batch_size=1)
teacher, student = Teacher().to(device).eval(), Student().to(device)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
for epoch in range(50):
    for lr, hr in train_loader:
        lr, hr = lr.to(device), hr.to(device)
        with torch.no_grad():
            target = teacher(hr)
        sr = student(lr)
        loss = F.l1_loss(sr, hr) + 0.5 * F.l1_loss(sr, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, evaluate(val_loader, teacher, student))
