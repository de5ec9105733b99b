import torch
import torch.nn as nn
import torch.nn.functional as F


class MHSA(nn.Module):
    def __init__(self, dims, size, heads=4):
        super(MHSA, self).__init__()
        self.heads = heads
        self.qkv = nn.Conv2d(dims, dims * 3, kernel_size=1)
        self.rel_h = nn.Parameter(torch.randn(1, heads, dims // heads, 1, size) * 0.1)
        self.rel_w = nn.Parameter(torch.randn(1, heads, dims // heads, size, 1) * 0.1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(x).view(b, 3, self.heads, c // self.heads, h * w).unbind(1)
        pos = (self.rel_h + self.rel_w).view(1, self.heads, c // self.heads, h * w)
        energy = q.transpose(2, 3) @ k + q.transpose(2, 3) @ pos
        out = v @ F.softmax(energy, dim=-1).transpose(2, 3)
        return out.reshape(b, c, h, w)


class Bottleneck(nn.Module):
    def __init__(self, c_in, c, stride=1, size=None):
        super(Bottleneck, self).__init__()
        mid = nn.Conv2d(c, c, 3, stride, 1, bias=False) if size is None else \
            nn.Sequential(MHSA(c, size), nn.AvgPool2d(2) if stride == 2 else nn.Identity())
        self.body = nn.Sequential(
            nn.Conv2d(c_in, c, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(),
            mid, nn.BatchNorm2d(c), nn.ReLU(),
            nn.Conv2d(c, c * 2, 1, bias=False), nn.BatchNorm2d(c * 2))
        self.shortcut = nn.Sequential(nn.Conv2d(c_in, c * 2, 1, stride, bias=False), nn.BatchNorm2d(c * 2))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


class BoTNet(nn.Module):
    def __init__(self, num_classes):
        super(BoTNet, self).__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.layer1 = Bottleneck(16, 16)
        self.layer2 = Bottleneck(32, 32, stride=2)
        self.layer3 = Bottleneck(64, 64, stride=2)
        self.layer4 = nn.Sequential(Bottleneck(128, 64, stride=2, size=2), Bottleneck(128, 64, size=1))
        self.fc = nn.Linear(128, num_classes)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        x = self.layer4(x)
        return self.fc(x.mean(dim=(2, 3)))


class Shapes(torch.utils.data.Dataset):
    def __init__(self, n, size=32):
        g = torch.Generator().manual_seed(6)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.images = torch.randn(n, 3, size, size, generator=g) * 0.2
        for img, l in zip(self.images, self.labels):
            img[int(l), 8:24, 8:24] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def main(batch_size=1, epochs=2):
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(Shapes(48), batch_size=batch_size, shuffle=True)
    model = BoTNet(num_classes=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        model.train()
        right, total = 0, 0.0
        for data, target in loader:
            optimizer.zero_grad()
            output = model(data)
            loss = criterion(output, target)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(target)
            right += (output.argmax(1) == target).sum().item()
        n = len(loader.dataset)
        print('[Epoch: {:3d}], Loss: {:.4f}, Acc: {:.3f}'.format(epoch, total / n, right / n))


if __name__ == '__main__':
    main()
