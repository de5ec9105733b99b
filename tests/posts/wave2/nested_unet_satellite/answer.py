import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import functional as TF


class conv_block(nn.Module):
    def __init__(self, in_ch, out_ch):
        super(conv_block, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, 1, 1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True),
            nn.Conv2d(out_ch, out_ch, 3, 1, 1), nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.conv(x)


class up_conv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super(up_conv, self).__init__()
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(in_ch, out_ch, 3, 1, 1),
                                nn.BatchNorm2d(out_ch), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.up(x)


class U_Net(nn.Module):
    def __init__(self, in_ch=3, out_ch=1, n1=8):
        super(U_Net, self).__init__()
        f = [n1, n1 * 2, n1 * 4, n1 * 8, n1 * 16]
        self.Maxpool = nn.MaxPool2d(2, 2)
        self.Conv1, self.Conv2, self.Conv3 = conv_block(in_ch, f[0]), conv_block(f[0], f[1]), conv_block(f[1], f[2])
        self.Conv4, self.Conv5 = conv_block(f[2], f[3]), conv_block(f[3], f[4])
        self.Up5, self.Up_conv5 = up_conv(f[4], f[3]), conv_block(f[4], f[3])
        self.Up4, self.Up_conv4 = up_conv(f[3], f[2]), conv_block(f[3], f[2])
        self.Up3, self.Up_conv3 = up_conv(f[2], f[1]), conv_block(f[2], f[1])
        self.Up2, self.Up_conv2 = up_conv(f[1], f[0]), conv_block(f[1], f[0])
        self.Conv = nn.Conv2d(f[0], out_ch, 1)

    def forward(self, x):
        e1 = self.Conv1(x)
        e2 = self.Conv2(self.Maxpool(e1))
        e3 = self.Conv3(self.Maxpool(e2))
        e4 = self.Conv4(self.Maxpool(e3))
        e5 = self.Conv5(self.Maxpool(e4))
        d5 = self.Up5(e5)
        d5 = torch.cat((e4, d5), dim=1)
        d4 = torch.cat((e3, self.Up4(self.Up_conv5(d5))), dim=1)
        d3 = torch.cat((e2, self.Up3(self.Up_conv4(d4))), dim=1)
        d2 = torch.cat((e1, self.Up2(self.Up_conv3(d3))), dim=1)
        return self.Conv(self.Up_conv2(d2))


class Images_Dataset(Dataset):
    def __init__(self, n, size):
        self.n, self.size = n, size

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.rand(3, 500, 500, generator=g)
        label = (image.mean(0, keepdim=True) > 0.5).float()
        return TF.resize(image, self.size), TF.resize(label, self.size).round()


size = [480, 480]
loader = DataLoader(Images_Dataset(5, size), batch_size=2, shuffle=True)
model = U_Net()
opt = torch.optim.Adam(model.parameters(), lr=0.001)
for epoch in range(1):
    model.train()
    for x, y in loader:
        y_pred = model(x)
        loss = F.binary_cross_entropy_with_logits(y_pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print('loss', loss.item())
