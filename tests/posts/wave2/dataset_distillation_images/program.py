import argparse
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms


class ConvNet(nn.Module):
    def __init__(self, channel, num_classes, net_width=32, net_depth=3, im_size=(32, 32)):
        super(ConvNet, self).__init__()
        layers, cin = [], channel
        for _ in range(net_depth):
            layers += [nn.Conv2d(cin, net_width, 3, padding=1), nn.GroupNorm(net_width, net_width),
                       nn.ReLU(inplace=True), nn.AvgPool2d(2)]
            cin = net_width
        self.features = nn.Sequential(*layers)
        side = im_size[0] // 2 ** net_depth
        self.classifier = nn.Linear(net_width * side * side, num_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def match_loss(gw_syn, gw_real):
    dis = 0.0
    for gwr, gws in zip(gw_real, gw_syn):
        dis = dis + (1 - F.cosine_similarity(gwr.flatten(), gws.flatten(), dim=0))
    return dis


parser = argparse.ArgumentParser()
parser.add_argument('--dlipc', type=int, default=1, help='images per class')
parser.add_argument('--dllr_img', type=float, default=0.1)
parser.add_argument('--dldevice', default='cpu')
parser.add_argument('--iterations', type=int, default=3)
parser.add_argument('--batch_real', type=int, default=16)
args = parser.parse_args()

channel, im_size, num_classes = 3, (32, 32), 10
real = datasets.FakeData(80, (channel, *im_size), num_classes, transforms.ToTensor())
images_all = torch.stack([real[i][0] for i in range(len(real))]).to(args.dldevice)
labels_all = torch.tensor([int(real[i][1]) for i in range(len(real))], device=args.dldevice)

# initialise the synthetic images from small noise
image_syn = torch.randn(size=(num_classes * args.dlipc, channel, im_size[0], im_size[1]),
                        dtype=torch.float, requires_grad=True, device=args.dldevice) * 0.01
label_syn = torch.arange(num_classes, device=args.dldevice).repeat_interleave(args.dlipc)
optimizer_img = torch.optim.SGD([image_syn, ], lr=args.dllr_img, momentum=0.5)
optimizer_img.zero_grad()

for it in range(args.iterations):
    net = ConvNet(channel, num_classes).to(args.dldevice)
    params = list(net.parameters())
    idx = torch.randperm(len(images_all))[:args.batch_real]
    loss_real = F.cross_entropy(net(images_all[idx]), labels_all[idx])
    gw_real = [g.detach().clone() for g in torch.autograd.grad(loss_real, params)]
    loss_syn = F.cross_entropy(net(image_syn), label_syn)
    gw_syn = torch.autograd.grad(loss_syn, params, create_graph=True)
    loss = match_loss(gw_syn, gw_real)
    optimizer_img.zero_grad()
    loss.backward()
    optimizer_img.step()
    print('iter %03d loss = %.4f' % (it, loss.item()))
result = copy.deepcopy(image_syn.detach().cpu())
print('images', tuple(result.shape), 'std %.4f' % result.std().item())
