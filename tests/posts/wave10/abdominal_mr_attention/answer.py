import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
num_classes = 5


class MedicalImageDataset(Dataset):
    def __init__(self, n=8, size=256):
        self.imgs = torch.rand(n, 1, size, size)
        organs = torch.randint(0, num_classes, (n, 1, size // 16, size // 16)).float()
        organs = F.interpolate(organs, scale_factor=16, mode='nearest')
        self.masks = organs * 63 / 255.

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, index):
        return self.imgs[index], self.masks[index]


def getTargetSegmentation(batch):
    denom = 0.24705882352941178
    return (batch / denom).round().long().squeeze()


class ChannelAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        b, c, h, w = x.shape
        q = x.view(b, c, -1)
        energy = torch.bmm(q, q.transpose(1, 2))
        attention = F.softmax(energy.max(-1, keepdim=True)[0] - energy, dim=-1)
        return self.gamma * torch.bmm(attention, q).view(b, c, h, w) + x


class DAFStack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer0 = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.PReLU())
        self.layer1 = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.PReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(32, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.PReLU())
        self.down1 = nn.Conv2d(32, 16, 1)
        self.down2 = nn.Conv2d(32, 16, 1)
        self.attn1 = ChannelAttention()
        self.attn2 = ChannelAttention()
        self.predict1 = nn.Conv2d(16, num_classes, 1)
        self.predict2 = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        l0 = self.layer0(x)
        l1 = self.layer1(l0)
        l2 = self.layer2(l1)
        size = x.shape[2:]
        p1 = self.predict1(self.attn1(self.down1(l1)))
        p2 = self.predict2(self.attn2(self.down2(l2)))
        up = dict(size=size, mode='bilinear', align_corners=False)
        return F.interpolate(p1, **up), F.interpolate(p2, **up)


def runTraining(batch_size=1, epochs=2, lr=1e-3):
    train_loader = DataLoader(MedicalImageDataset(), batch_size=batch_size, shuffle=True)
    net = DAFStack()
    CE_loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, betas=(0.9, 0.99))
    for i in range(epochs):
        net.train()
        lossVal = []
        for j, (image, labels) in enumerate(train_loader):
            optimizer.zero_grad()
            outputs0, outputs1 = net(image)
            Segmentation_class = getTargetSegmentation(labels)
            loss0 = CE_loss(outputs0, Segmentation_class)
            loss1 = CE_loss(outputs1, Segmentation_class)
            loss = loss0 + loss1
            loss.backward()
            optimizer.step()
            lossVal.append(loss.item())
        print('[Training] Epoch: {}, Loss: {:.4f}'.format(i, sum(lossVal) / len(lossVal)))


if __name__ == '__main__':
    runTraining(batch_size=2)
