import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ResNetOS8(nn.Module):
    def __init__(self):
        super(ResNetOS8, self).__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.layer1 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU())

    def forward(self, x):
        return self.layer2(self.layer1(self.conv1(x)))


class ASPP(nn.Module):
    def __init__(self, num_classes):
        super(ASPP, self).__init__()
        self.conv_1x1_1 = nn.Conv2d(64, 32, kernel_size=1)
        self.conv_3x3_1 = nn.Conv2d(64, 32, kernel_size=3, padding=2, dilation=2)
        self.conv_3x3_2 = nn.Conv2d(64, 32, kernel_size=3, padding=4, dilation=4)
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.conv_1x1_2 = nn.Conv2d(64, 32, kernel_size=1)
        self.conv_1x1_3 = nn.Conv2d(128, 32, kernel_size=1)
        self.conv_1x1_4 = nn.Conv2d(32, num_classes, kernel_size=1)

    def forward(self, feature_map):
        size = feature_map.shape[2:]
        out_img = F.interpolate(self.conv_1x1_2(self.avg_pool(feature_map)), size=size)
        out = torch.cat([F.relu(self.conv_1x1_1(feature_map)), F.relu(self.conv_3x3_1(feature_map)),
                         F.relu(self.conv_3x3_2(feature_map)), F.relu(out_img)], 1)
        return self.conv_1x1_4(F.relu(self.conv_1x1_3(out)))


class DeepLabV3(nn.Module):
    def __init__(self, num_classes):
        super(DeepLabV3, self).__init__()
        self.num_classes = num_classes
        self.resnet = ResNetOS8()
        self.aspp = ASPP(num_classes=num_classes)

    def forward(self, x):
        h, w = x.shape[2:]
        return F.interpolate(self.aspp(self.resnet(x)), size=(h, w), mode="bilinear", align_corners=False)


def deeplabv3(num_classes, pretrained=None):
    model = DeepLabV3(num_classes)
    if pretrained is not None:
        model.load_state_dict(torch.load(pretrained))
    return model


checkpoint = os.path.join(tempfile.mkdtemp(), "model_cityscapes.pth")
torch.save(DeepLabV3(num_classes=20).state_dict(), checkpoint)

network = deeplabv3(num_classes=8, pretrained=checkpoint)
optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
network.train()
for step in range(5):
    imgs = torch.rand(4, 3, 64, 64)
    label_imgs = torch.randint(0, 8, (4, 64, 64))
    loss = F.cross_entropy(network(imgs), label_imgs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
