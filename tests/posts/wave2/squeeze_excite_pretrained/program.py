import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import FakeData
from torchvision.models.resnet import Bottleneck, ResNet


class SELayer(nn.Module):
    def __init__(self, channel, reduction=16):
        super(SELayer, self).__init__()
        self.fc = nn.Sequential(nn.Linear(channel, channel // reduction, bias=False), nn.ReLU(inplace=True),
                                nn.Linear(channel // reduction, channel, bias=False), nn.Sigmoid())

    def forward(self, x):
        y = x.mean(dim=(2, 3))
        return x * self.fc(y)[:, :, None, None]


class SEBottleneck(Bottleneck):
    def __init__(self, inplanes, planes, *args, **kwargs):
        super().__init__(inplanes, planes, *args, **kwargs)
        self.bn3 = nn.Sequential(self.bn3, SELayer(planes * self.expansion))


def load_state_dict_from_archive(name):
    """stands for the download of the ImageNet weights"""
    torch.manual_seed(50)
    return ResNet(SEBottleneck, [3, 4, 6, 3], num_classes=1000).state_dict()


def se_resnet50(num_classes=1000, pretrained=False):
    model = ResNet(SEBottleneck, [3, 4, 6, 3], num_classes=num_classes)
    if pretrained:
        model.load_state_dict(load_state_dict_from_archive('seresnet50-60a8950a85b2b.pkl'))
    return model


def main():
    device = torch.device('cpu')
    transform = transforms.Compose([transforms.RandomCrop(64), transforms.ToTensor()])
    train_set = FakeData(40, (3, 72, 72), 50, transform=transform)
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)

    model = se_resnet50(num_classes=50, pretrained=True).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30, gamma=0.1)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1):
        model.train()
        correct = total = 0
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (logits.argmax(1) == labels).sum().item()
            total += labels.size(0)
        scheduler.step()
        print('epoch', epoch, 'loss %.4f' % loss.item(), 'accuracy %.3f' % (correct / total))


if __name__ == '__main__':
    main()
