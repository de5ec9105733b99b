import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CrackDataset(Dataset):
    def __init__(self, n, size=96):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.rand(3, self.size, self.size, generator=g)
        mask = (image.mean(0, keepdim=True) > 0.6).float()
        return image, mask


def double_conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class SegModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1, self.enc2 = double_conv(3, 8), double_conv(8, 16)
        self.dec = double_conv(24, 8)
        self.out = nn.Conv2d(8, 1, 1)
        self.criterion = nn.BCEWithLogitsLoss()

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode='bilinear', align_corners=False)
        return self.out(self.dec(torch.cat([a, b], dim=1)))

    def step(self, batch):
        x, y = batch
        logits = self(x)
        return self.criterion(logits, y), torch.sigmoid(logits), y

    def training_step(self, batch):
        loss, preds, targets = self.step(batch)
        return {'loss': loss}

    def training_epoch_end(self, outputs):
        mean = torch.stack([o['loss'].detach() for o in outputs]).mean()
        print('train/loss %.4f over %d steps' % (mean.item(), len(outputs)))


def fit(module, loader, epochs, device):
    module.to(device).train()
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    for _ in range(epochs):
        outputs = []
        for batch in loader:
            batch = [t.to(device) for t in batch]
            out = module.training_step(batch)
            optimizer.zero_grad()
            out['loss'].backward()
            optimizer.step()
            out['loss'] = out['loss'].detach()
            outputs.append(out)
        module.training_epoch_end(outputs)


if __name__ == '__main__':
    torch.manual_seed(0)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    fit(SegModule(), DataLoader(CrackDataset(30), batch_size=4, shuffle=True), epochs=2, device=device)
