import io

import torch
import torch.nn as nn

torch.manual_seed(3)


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class HRBackbone(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, c, 2), conv_bn(c, c, 2))
        self.branch_high = nn.Sequential(conv_bn(c, c), conv_bn(c, c))
        self.transition = conv_bn(c, 2 * c, 2)
        self.branch_low = conv_bn(2 * c, 2 * c)

    def features(self, x):
        x = self.stem(x)
        return self.branch_high(x), self.branch_low(self.transition(x))


class ClsHRNet(HRBackbone):
    """ImageNet classification network."""

    def __init__(self, c=16, num_classes=1000):
        super().__init__(c)
        self.downsamp = conv_bn(c, 2 * c, 2)
        self.classifier = nn.Linear(2 * c, num_classes)

    def forward(self, x):
        high, low = self.features(x)
        return self.classifier((self.downsamp(high) + low).mean(dim=(2, 3)))


class PoseHRNet(HRBackbone):
    def __init__(self, c=16, nof_joints=17):
        super().__init__(c)
        self.fuse = nn.Conv2d(2 * c, c, 1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.final_layer = nn.Conv2d(c, nof_joints, 1)

    def forward(self, x):
        high, low = self.features(x)
        return self.final_layer(high + self.up(self.fuse(low)))


def download_imagenet_checkpoint():
    buffer = io.BytesIO()
    torch.save(ClsHRNet().state_dict(), buffer)
    buffer.seek(0)
    return buffer


class Train:
    def __init__(self, pretrained_weight=None, lr=1e-3):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = PoseHRNet().to(self.device)
        if pretrained_weight is not None:
            state = torch.load(pretrained_weight, map_location=self.device)
            print("loading %d pretrained tensors" % len(state))
            self.model.load_state_dict(state, strict=True)
        self.loss_fn = nn.MSELoss()
        self.optim = torch.optim.Adam(self.model.parameters(), lr=lr)

    def run(self, images, heatmaps, epochs=3, batch_size=8):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for i in range(0, len(images), batch_size):
                image = images[i:i + batch_size].to(self.device)
                target = heatmaps[i:i + batch_size].to(self.device)
                self.optim.zero_grad()
                loss = self.loss_fn(self.model(image), target)
                loss.backward()
                self.optim.step()
                total += loss.item()
            print("epoch %d loss %.4f" % (epoch, total))


if __name__ == "__main__":
    train = Train(pretrained_weight=download_imagenet_checkpoint())
    train.run(torch.randn(24, 3, 64, 48), torch.rand(24, 17, 16, 12))
