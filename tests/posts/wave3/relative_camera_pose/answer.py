import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)


class Pairs(Dataset):
    """Two frames with the relative translation and rotation between the cameras."""

    def __init__(self, n=44):
        self.a, self.b = torch.rand(n, 3, 64, 64), torch.rand(n, 3, 64, 64)
        self.translation = torch.randn(n, 3)
        self.rotation = nn.functional.normalize(torch.randn(n, 4), dim=1)

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return self.a[i], self.b[i], self.translation[i], self.rotation[i]


class CamPoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch = nn.Sequential(
            nn.Conv2d(3, 32, 7, 4, 3), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
        self.fuse = nn.Sequential(nn.Conv2d(128, 128, 3, 2, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1))
        self.trans_head = nn.Conv2d(128, 3, 1)
        self.rot_head = nn.Conv2d(128, 4, 1)

    def forward(self, a, b):
        f = self.fuse(torch.cat([self.branch(a), self.branch(b)], dim=1))
        return self.trans_head(f).flatten(1), self.rot_head(f).flatten(1)


def l1(pred, label):
    return (pred - label).abs().mean()


def main():
    model = CamPoseNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Pairs(), batch_size=16, shuffle=True)
    for epoch in range(3):
        total_t = total_r = 0.0
        for a, b, translation_var, rotation_var in loader:
            trans, rot = model(a, b)
            rot = nn.functional.normalize(rot, dim=1)
            loss_t = l1(trans, translation_var)
            loss_r = l1(rot, rotation_var)
            loss = loss_t + 10 * loss_r
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_t += loss_t.item() * len(a)
            total_r += loss_r.item() * len(a)
        print('epoch %d translation %.4f rotation %.4f' % (epoch, total_t / len(loader.dataset), total_r / len(loader.dataset)))


if __name__ == '__main__':
    main()
