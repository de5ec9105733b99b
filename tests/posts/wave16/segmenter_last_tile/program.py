import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

params = {
    'global': {'num_classes': 4, 'bands': 4, 'batch_size': 8},
    'training': {'num_trn_samples': 49, 'num_val_samples': 12, 'num_epochs': 3, 'lr': 2e-3},
}


class GeoTiles(Dataset):
    """patches of a satellite image with one land cover class per quarter"""

    def __init__(self, n, bands, num_classes, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        spectra = torch.rand(num_classes, bands, generator=torch.Generator().manual_seed(99))
        corners = torch.randint(0, num_classes, (n, 2, 2), generator=g)
        self.label = corners.repeat_interleave(size // 2, 1).repeat_interleave(size // 2, 2)
        clean = spectra[self.label].permute(0, 3, 1, 2)
        self.image = clean + 0.15 * torch.randn(clean.shape, generator=g)

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return {'sat_img': self.image[i], 'map_img': self.label[i]}


class ASPP(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.local = nn.Sequential(nn.Conv2d(cin, cout, 3, padding=2, dilation=2), nn.BatchNorm2d(cout), nn.ReLU())
        self.image_pool = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())
        self.project = nn.Conv2d(2 * cout, cout, 1)

    def forward(self, x):
        pooled = self.image_pool(x).expand(-1, -1, *x.shape[2:])
        return self.project(torch.cat([self.local(x), pooled], dim=1))


class DeepLab(nn.Module):
    def __init__(self, bands, num_classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(bands, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.aspp = ASPP(24, 24)
        self.head = nn.Conv2d(24, num_classes, 1)

    def forward(self, x):
        out = self.head(self.aspp(self.stem(x)))
        return F.interpolate(out, size=x.shape[2:], mode='bilinear', align_corners=False)


def create_dataloaders(params):
    g, t = params['global'], params['training']
    trn = GeoTiles(t['num_trn_samples'], g['bands'], g['num_classes'], seed=1)
    val = GeoTiles(t['num_val_samples'], g['bands'], g['num_classes'], seed=2)
    trn_loader = DataLoader(trn, batch_size=g['batch_size'], shuffle=True)
    val_loader = DataLoader(val, batch_size=g['batch_size'], shuffle=False)
    return trn_loader, val_loader


def train(loader, model, criterion, optimizer):
    model.train()
    total = 0.0
    for data in loader:
        loss = criterion(model(data['sat_img']), data['map_img'])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluation(loader, model):
    model.eval()
    hits = [(model(d['sat_img']).argmax(1) == d['map_img']).float().mean().item() for d in loader]
    return sum(hits) / len(hits)


def main(params):
    torch.manual_seed(0)
    trn_loader, val_loader = create_dataloaders(params)
    model = DeepLab(params['global']['bands'], params['global']['num_classes'])
    optimizer = torch.optim.Adam(model.parameters(), lr=params['training']['lr'])
    criterion = nn.CrossEntropyLoss()
    for epoch in range(params['training']['num_epochs']):
        loss = train(trn_loader, model, criterion, optimizer)
        print('epoch %d trn loss %.3f val pixel accuracy %.3f' % (epoch, loss, evaluation(val_loader, model)))


if __name__ == '__main__':
    main(params)
