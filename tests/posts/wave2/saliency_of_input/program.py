import torch
import torch.nn as nn
import torchvision.transforms as transforms
from torch.autograd import Variable
from torchvision.datasets import FakeData


class SmallVGG(nn.Module):
    def __init__(self, num_classes=10):
        super(SmallVGG, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(64 * 4, 64), nn.ReLU(inplace=True), nn.Linear(64, num_classes))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.view(x.size(0), -1))


def compute_saliency_maps(X, y, model):
    """largest absolute derivative of the score of the right class over the colours"""
    model.eval()
    X_var = Variable(X, requires_grad=True).cuda()
    y_var = Variable(y).cuda()
    scores = model(X_var).gather(1, y_var.view(-1, 1)).squeeze(1)
    scores.backward(torch.ones(len(y)).cuda())
    saliency = X_var.grad.data.abs().max(dim=1)[0]
    return saliency.cpu()


torch.manual_seed(7)
data = FakeData(20, (3, 64, 64), 10, transforms.ToTensor())
X = torch.stack([data[i][0] for i in range(5)])
y = torch.LongTensor([int(data[i][1]) for i in range(5)])

model = SmallVGG().cuda()
for p in model.parameters():
    p.requires_grad = False
maps = compute_saliency_maps(X, y, model)
for label, m in zip(y, maps):
    top = m.view(-1).argmax().item()
    print('class', label.item(), 'peak', divmod(top, m.size(1)), 'value %.5f' % m.max().item())
