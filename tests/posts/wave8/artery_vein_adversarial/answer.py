import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class RetinaAVDataset(Dataset):
    """fundus photos and their manual labels: background, artery, vein and uncertain"""

    def __init__(self, n=12, size=(160, 144), seed=0):
        rng = np.random.RandomState(seed)
        self.size = size
        self.images = [Image.fromarray(rng.randint(0, 255, (size[1], size[0], 3)).astype(np.uint8)) for _ in range(n)]
        self.labels = []
        for _ in range(n):
            classes = np.zeros((size[1], size[0]), dtype=np.uint8)
            for cls in (1, 2, 3):
                x = rng.randint(0, size[0] - 8)
                classes[:, x:x + 8] = cls
            self.labels.append(Image.fromarray(classes))

    def __len__(self):
        return len(self.images)

    def preprocess(self, pil_img, is_label):
        img_nd = np.array(pil_img.resize(self.size, Image.NEAREST))
        if is_label:
            return torch.from_numpy(img_nd).long()
        return torch.from_numpy(img_nd.transpose((2, 0, 1)) / 255).float()

    def __getitem__(self, i):
        return {'image': self.preprocess(self.images[i], False), 'label': self.preprocess(self.labels[i], True)}


def double_conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(True),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(True))


class Generator(nn.Module):
    def __init__(self, n_channels=3, n_classes=4, base=16):
        super().__init__()
        self.n_channels, self.n_classes = n_channels, n_classes
        self.inc, self.down1 = double_conv(n_channels, base), double_conv(base, base * 2)
        self.down2 = double_conv(base * 2, base * 4)
        self.up1, self.up2 = double_conv(base * 6, base * 2), double_conv(base * 3, base)
        self.outc = nn.Conv2d(base, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        x = self.up1(torch.cat([x2, F.interpolate(x3, scale_factor=2)], dim=1))
        x = self.up2(torch.cat([x1, F.interpolate(x, scale_factor=2)], dim=1))
        return self.outc(x)


class Discriminator(nn.Module):
    def __init__(self, n_channels=7, base=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(n_channels, base, 4, 2, 1), nn.LeakyReLU(0.2, True),
            nn.Conv2d(base, base * 2, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(base * 2, 1, 3, 1, 1))

    def forward(self, x):
        return self.net(x)


def train_net(net_G, net_D, device, epochs=1, batch_size=6, lr=2e-4, alpha=0.08):
    train_loader = DataLoader(RetinaAVDataset(), batch_size=batch_size, shuffle=True, drop_last=True)
    optimizer_G = torch.optim.Adam(net_G.parameters(), lr=lr, betas=(0.5, 0.999))
    optimizer_D = torch.optim.Adam(net_D.parameters(), lr=lr, betas=(0.5, 0.999))
    L_seg_CE, L_adv_BCE = nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        for batch in train_loader:
            imgs = batch['image'].to(device)
            true_masks = batch['label'].to(device)
            encode_tensor = F.one_hot(true_masks, num_classes=net_G.n_classes)
            encode_tensor = encode_tensor.permute(0, 3, 1, 2).contiguous().float()

            masks_pred = net_G(imgs)
            real = net_D(torch.cat([imgs, encode_tensor], dim=1))
            fake = net_D(torch.cat([imgs, masks_pred.softmax(1).detach()], dim=1))
            loss_D = L_adv_BCE(real, torch.ones_like(real)) + L_adv_BCE(fake, torch.zeros_like(fake))
            optimizer_D.zero_grad()
            loss_D.backward()
            optimizer_D.step()

            fake = net_D(torch.cat([imgs, masks_pred.softmax(1)], dim=1))
            loss_G = L_seg_CE(masks_pred, true_masks) + alpha * L_adv_BCE(fake, torch.ones_like(fake))
            optimizer_G.zero_grad()
            loss_G.backward()
            optimizer_G.step()
            print('epoch %d loss_D %.4f loss_G %.4f' % (epoch + 1, loss_D.item(), loss_G.item()))


if __name__ == '__main__':
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    train_net(Generator().to(device), Discriminator().to(device), device)
