import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.models.resnet import BasicBlock, ResNet


class TinyImages(Dataset):
    """Stand-in for CIFAR10: class patterns with noise, sorted by class like the original batches on disk."""

    def __init__(self, n, seed, transform=None):
        g = torch.Generator().manual_seed(seed)
        pattern = torch.rand(10, 3, 8, 8, generator=torch.Generator().manual_seed(0))
        self.labels = torch.arange(n) * 10 // n
        base = nn.functional.interpolate(pattern, size=32, mode="bilinear")[self.labels]
        self.images = (base * 0.7 + 0.3 * torch.rand(n, 3, 32, 32, generator=g)).clamp(0, 1)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.labels[i]


def resnet10(pretrained=None, device="cpu"):
    net = ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)
    net.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=2, padding=1, bias=False)
    net.maxpool = nn.Identity()
    if pretrained:
        net.load_state_dict(torch.load(pretrained, map_location=device))
    return net


mean = (0.4914, 0.4822, 0.4465)
std = (0.2471, 0.2435, 0.2616)
t = transforms.Compose([transforms.Normalize(mean, std)])


def pretrain(path):
    torch.manual_seed(5)
    net = resnet10()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    loader = DataLoader(TinyImages(320, seed=1, transform=t), batch_size=32, shuffle=True)
    for epoch in range(2):
        for img, label in loader:
            loss = nn.functional.cross_entropy(net(img), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("pretraining epoch %d loss %.3f" % (epoch, loss.item()))
    torch.save(net.state_dict(), path)


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    path = os.path.join(tempfile.mkdtemp(), "resnet10.pt")
    pretrain(path)

    net = resnet10(pretrained=path, device=device).to(device)
    dataset = TinyImages(200, seed=2, transform=t)
    dataloader = DataLoader(dataset, batch_size=10, num_workers=0, shuffle=False)

    preds = []
    labels = []
    for i, (img, label) in enumerate(dataloader):
        img = img.to(device)
        pred = net(img).detach().cpu()
        preds.append(pred.argmax(1))
        labels.append(label.cpu())
    preds = torch.cat(preds)
    labels = torch.cat(labels)
    print("test accuracy:", (sum(preds == labels) / len(preds)).item())
