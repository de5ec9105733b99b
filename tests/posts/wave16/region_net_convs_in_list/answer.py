import io

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.LeakyReLU(0.1))


class RegionNet(nn.Module):
    """finds the one box of an image; a cell predicts x, y, w, h and a score"""

    def __init__(self, width=16, depth=3):
        super().__init__()
        self.stem = conv_bn(1, width, stride=2)
        self.convs = nn.ModuleList([
            nn.Sequential(conv_bn(width, width), conv_bn(width, width))
            for _ in range(depth)
        ])
        self.down = conv_bn(width, width, stride=2)
        self.region = nn.Conv2d(width, 5, 1)

    def forward(self, x):
        x = self.stem(x)
        for conv in self.convs:
            x = x + conv(x)
        out = self.region(self.down(x))
        return torch.sigmoid(out[:, :4]), out[:, 4]


def make_boxes(n, size=32, cells=8):
    img = 0.3 * torch.rand(n, 1, size, size)
    box = torch.zeros(n, 4)
    cell = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        w, h = torch.randint(5, 14, (2,)).tolist()
        x0 = int(torch.randint(0, size - w, (1,)))
        y0 = int(torch.randint(0, size - h, (1,)))
        img[i, 0, y0:y0 + h, x0:x0 + w] += 0.6
        cx, cy = (x0 + w / 2) * cells / size, (y0 + h / 2) * cells / size
        cell[i] = int(cy) * cells + int(cx)
        box[i] = torch.tensor([cx % 1, cy % 1, w / size, h / size])
    return img, box, cell


def region_loss(boxes, scores, box, cell):
    which = F.cross_entropy(scores.flatten(1), cell)
    picked = boxes.flatten(2).gather(2, cell[:, None, None].expand(-1, 4, 1)).squeeze(2)
    return which + 5 * F.mse_loss(picked, box)


def main():
    torch.manual_seed(0)
    img, box, cell = make_boxes(256)
    test_img, test_box, test_cell = (t.to(device) for t in make_boxes(128))
    net = RegionNet().to(device)
    print('parameters: %d' % sum(p.numel() for p in net.parameters()))

    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(6):
        net.train()
        for idx in torch.randperm(len(img)).split(32):
            boxes, scores = net(img[idx].to(device))
            loss = region_loss(boxes, scores, box[idx].to(device), cell[idx].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('epoch %d loss %.3f' % (epoch, loss.item()))

    def accuracy(model):
        with torch.no_grad():
            return (model(test_img)[1].flatten(1).argmax(1) == test_cell).float().mean().item()

    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    again = RegionNet().to(device)
    again.load_state_dict(torch.load(file))
    net.eval()
    again.eval()
    print('cell accuracy %.3f, after loading %.3f' % (accuracy(net), accuracy(again)))


if __name__ == '__main__':
    main()
