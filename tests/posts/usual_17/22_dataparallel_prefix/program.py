import os
import tempfile
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CKPT_DIR = tempfile.mkdtemp()


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class DefectNet(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.stem = ConvBlock(3, 16)
        self.stage1 = ConvBlock(16, 32)
        self.stage2 = ConvBlock(32, 64)
        self.head = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.stage2(self.stage1(self.stem(x)))
        return self.head(x.mean(dim=(2, 3)))


def build_loader(n, shuffle):
    y = torch.randint(0, 5, (n,))
    x = torch.randn(n, 3, 32, 32) + y.view(-1, 1, 1, 1) * 0.3
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=shuffle)


def save_checkpoint(path, model, optimizer, epoch):
    torch.save({
        'epoch': epoch,
        'model': model.state_dict(),
        'optimizer': optimizer.state_dict(),
    }, path)


def train(device, epochs=2):
    model = DefectNet().to(device)
    model = nn.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    loader = build_loader(256, True)
    path = os.path.join(CKPT_DIR, 'last.pth')
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        save_checkpoint(path, model, optimizer, epoch)
        print('epoch', epoch, 'loss', loss.item())
    return path


def load_for_inference(path, device):
    checkpoint = torch.load(path, map_location=device)
    model = DefectNet()
    model.load_state_dict(checkpoint['model'])
    model.to(device).eval()
    print('loaded epoch', checkpoint['epoch'])
    return model


def main():
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    path = train(device)
    model = load_for_inference(path, device)
    correct = n = 0
    with torch.no_grad():
        for x, y in build_loader(96, False):
            correct += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
            n += len(y)
    print('test accuracy', correct / n)


if __name__ == '__main__':
    main()
