import os
import tempfile
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


def remove_module_key(state_dict):
    new_state_dict = OrderedDict()
    for k, v in state_dict.items():
        new_state_dict[k.replace('module.', '')] = v
    return new_state_dict


class ResNetBase(nn.Module):
    def __init__(self, out=64):
        super(ResNetBase, self).__init__()
        self.base = nn.Sequential(
            nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.Conv2d(32, out, 3, 2, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))

    def forward(self, x):
        return F.adaptive_avg_pool2d(self.base(x), 1).flatten(1)


class EltwiseSubEmbed(nn.Module):
    def __init__(self, num_features=64, num_classes=2):
        super(EltwiseSubEmbed, self).__init__()
        self.bn = nn.BatchNorm1d(num_features)
        self.classifier = nn.Linear(num_features, num_classes)

    def forward(self, x1, x2):
        return self.classifier(self.bn((x1 - x2).pow(2)))


class SiameseNet(nn.Module):
    def __init__(self, base_model, embed_model):
        super(SiameseNet, self).__init__()
        self.base_model = base_model
        self.embed_model = embed_model

    def forward(self, x1, x2):
        f1, f2 = self.base_model(x1), self.base_model(x2)
        return f1, f2, self.embed_model(f1, f2)


class PoseGenerator(nn.Module):
    def __init__(self, reid=64, pose=18, noise=16):
        super(PoseGenerator, self).__init__()
        self.noise = noise
        self.pose = nn.Sequential(nn.Conv2d(pose, 32, 4, 4), nn.ReLU(inplace=True))
        self.fc = nn.Linear(reid + noise, 32 * 16 * 8)
        self.up = nn.Sequential(nn.ConvTranspose2d(64, 32, 4, 4), nn.ReLU(inplace=True),
                                nn.Conv2d(32, 3, 3, padding=1), nn.Tanh())

    def forward(self, posemap, feature):
        z = torch.randn(feature.size(0), self.noise, device=feature.device)
        h = self.fc(torch.cat([feature, z], 1)).view(-1, 32, 16, 8)
        return self.up(torch.cat([h, self.pose(posemap)], 1))


def new_siamese():
    return SiameseNet(ResNetBase(), EltwiseSubEmbed())


def images(n):
    return torch.rand(n, 3, 64, 32) * 2 - 1


torch.manual_seed(0)
checkpoint = os.path.join(tempfile.mkdtemp(), 'model_best.pth.tar')

# stage I: reid baseline
net = nn.DataParallel(new_siamese())
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for i in range(3):
    _, _, logits = net(images(16), images(16))
    loss = F.cross_entropy(logits, torch.randint(0, 2, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(net.state_dict(), checkpoint)
print('stage I done', loss.item())

# stage II: train the generator with the encoder fixed
net_E = nn.DataParallel(new_siamese())
net_G = nn.DataParallel(PoseGenerator())
state_dict = torch.load(checkpoint)
net_E.load_state_dict(state_dict)
for p in net_E.parameters():
    p.requires_grad = False
net_E.eval()
optimizer_G = torch.optim.Adam(net_G.parameters(), lr=0.001, betas=(0.5, 0.999))
for i in range(3):
    origin, target, posemap = images(8), images(8), torch.rand(8, 18, 64, 32)
    feature, _, _ = net_E(origin, target)
    fake = net_G(posemap, feature)
    loss = F.l1_loss(fake, target)
    optimizer_G.zero_grad()
    loss.backward()
    optimizer_G.step()
    print('stage II', i, loss.item())
