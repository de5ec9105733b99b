import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class ConvEncoder(nn.Module):
    def __init__(self, in_ch=3, widths=(16, 32, 64), n_classes=5):
        super().__init__()
        layers = []
        prev = in_ch
        for w in widths:
            layers.append(nn.Conv2d(prev, w, kernel_size=3, padding=1))
            layers.append(nn.BatchNorm2d(w))
            layers.append(nn.ReLU(inplace=True))
            layers.append(nn.MaxPool2d(2))
            prev = w
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(prev, n_classes)

    def forward(self, x):
        h = self.features(x)
        h = F.adaptive_avg_pool2d(h, 1).flatten(1)
        return self.head(h)


def main():
    net = ConvEncoder()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step in range(4):
        images = torch.rand(8, 3, 32, 32)
        labels = torch.randint(0, 5, (8,))
        loss = F.cross_entropy(net(images), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, round(loss.item(), 4))


main()
