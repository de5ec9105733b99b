import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class conv_block(nn.Module):
    def __init__(self, ch_in, ch_out):
        super(conv_block, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(ch_in, ch_out, 3, 1, 1), nn.BatchNorm2d(ch_out), nn.ReLU(inplace=True),
            nn.Conv2d(ch_out, ch_out, 3, 1, 1), nn.BatchNorm2d(ch_out), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.conv(x)


class up_conv(nn.Module):
    def __init__(self, ch_in, ch_out):
        super(up_conv, self).__init__()
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(ch_in, ch_out, 3, 1, 1),
            nn.BatchNorm2d(ch_out), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.up(x)


class Attention_block(nn.Module):
    def __init__(self, F_g, F_l, F_int):
        super(Attention_block, self).__init__()
        self.W_g = nn.Sequential(nn.Conv2d(F_g, F_int, 1), nn.BatchNorm2d(F_int))
        self.W_x = nn.Sequential(nn.Conv2d(F_l, F_int, 1), nn.BatchNorm2d(F_int))
        self.psi = nn.Sequential(nn.Conv2d(F_int, 1, 1), nn.BatchNorm2d(1), nn.Sigmoid())
        self.relu = nn.ReLU(inplace=True)

    def forward(self, g, x):
        g1 = self.W_g(g)
        x1 = self.W_x(x)
        psi = self.relu(g1 + x1)
        return x * self.psi(psi)


class AttU_Net(nn.Module):
    def __init__(self, img_ch=3, output_ch=1):
        super(AttU_Net, self).__init__()
        self.Maxpool = nn.MaxPool2d(2, 2)
        self.Conv1 = conv_block(img_ch, 64)
        self.Conv2 = conv_block(64, 128)
        self.Conv3 = conv_block(128, 256)
        self.Conv4 = conv_block(256, 512)
        self.Conv5 = conv_block(512, 1024)
        # the gating signals come from the coarser level, as in the figure of the paper
        self.Att5 = Attention_block(F_g=1024, F_l=512, F_int=256)
        self.Att4 = Attention_block(F_g=512, F_l=256, F_int=128)
        self.Att3 = Attention_block(F_g=256, F_l=128, F_int=64)
        self.Att2 = Attention_block(F_g=128, F_l=64, F_int=32)
        self.Up5, self.Up_conv5 = up_conv(1024, 512), conv_block(1024, 512)
        self.Up4, self.Up_conv4 = up_conv(512, 256), conv_block(512, 256)
        self.Up3, self.Up_conv3 = up_conv(256, 128), conv_block(256, 128)
        self.Up2, self.Up_conv2 = up_conv(128, 64), conv_block(128, 64)
        self.Conv_1x1 = nn.Conv2d(64, output_ch, 1)

    def forward(self, x):
        x1 = self.Conv1(x)
        x2 = self.Conv2(self.Maxpool(x1))
        x3 = self.Conv3(self.Maxpool(x2))
        x4 = self.Conv4(self.Maxpool(x3))
        x5 = self.Conv5(self.Maxpool(x4))

        d5 = self.Up5(x5)
        x4 = self.Att5(g=x5, x=x4)
        d5 = self.Up_conv5(torch.cat((x4, d5), dim=1))
        d4 = self.Up4(d5)
        x3 = self.Att4(g=d5, x=x3)
        d4 = self.Up_conv4(torch.cat((x3, d4), dim=1))
        d3 = self.Up3(d4)
        x2 = self.Att3(g=d4, x=x2)
        d3 = self.Up_conv3(torch.cat((x2, d3), dim=1))
        d2 = self.Up2(d3)
        x1 = self.Att2(g=d3, x=x1)
        d2 = self.Up_conv2(torch.cat((x1, d2), dim=1))
        return self.Conv_1x1(d2)


if __name__ == '__main__':
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    images = torch.rand(2, 3, 64, 64)
    GT = (torch.rand(2, 1, 64, 64) > 0.7).float()
    train_loader = DataLoader(TensorDataset(images, GT), batch_size=1, shuffle=True)
    unet = AttU_Net().to(device)
    optimizer = torch.optim.Adam(unet.parameters(), 2e-4, [0.5, 0.999])
    criterion = nn.BCELoss()
    unet.train()
    for images, GT in train_loader:
        images, GT = images.to(device), GT.to(device)
        SR_probs = torch.sigmoid(unet(images))
        loss = criterion(SR_probs.view(SR_probs.size(0), -1), GT.view(GT.size(0), -1))
        unet.zero_grad()
        loss.backward()
        optimizer.step()
        print('[Training] Loss: %.4f' % loss.item())
