import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Function
from torch.utils.data import DataLoader, TensorDataset


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.extractor = nn.Sequential(
            nn.Conv2d(3, 32, kernel_size=5, padding=2), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 48, kernel_size=5, padding=2), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2),
        )

    def forward(self, x):
        return self.extractor(x).view(-1, 48 * 7 * 7)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Sequential(
            nn.Linear(48 * 7 * 7, 100), nn.ReLU(),
            nn.Linear(100, 100), nn.ReLU(),
            nn.Linear(100, 10),
            nn.Softmax(dim=1),
        )

    def forward(self, x):
        return self.classifier(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminator = nn.Sequential(
            nn.Linear(48 * 7 * 7, 100), nn.ReLU(),
            nn.Linear(100, 2),
        )

    def forward(self, x, alpha):
        return torch.softmax(self.discriminator(ReverseLayerF.apply(x, alpha)), dim=1)


def digits(n, colored, seed):
    """small stand-in of the two sets of digits: grey ones, and the same ones over colours"""
    g = torch.Generator().manual_seed(seed)
    proto = torch.rand(10, 1, 28, 28, generator=torch.Generator().manual_seed(5))
    label = torch.randint(10, (n,), generator=g)
    image = (proto[label] > 0.6).float().repeat(1, 3, 1, 1)
    if colored:
        image = (image - torch.rand(n, 3, 1, 1, generator=g)).abs()
    return TensorDataset(image, label)


def main(epochs=2, batch_size=32):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    source_loader = DataLoader(digits(320, False, 0), batch_size=batch_size, shuffle=True)
    target_loader = DataLoader(digits(320, True, 1), batch_size=batch_size, shuffle=True)
    encoder, classifier, discriminator = Extractor().to(device), Classifier().to(device), Discriminator().to(device)
    classifier_criterion = nn.CrossEntropyLoss()
    discriminator_criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(list(encoder.parameters()) + list(classifier.parameters()) + list(discriminator.parameters()),
                          lr=0.01, momentum=0.9)
    total_steps = epochs * len(source_loader)
    for epoch in range(epochs):
        for i, ((source_image, source_label), (target_image, _)) in enumerate(zip(source_loader, target_loader)):
            p = (epoch * len(source_loader) + i) / total_steps
            alpha = 2. / (1. + np.exp(-10 * p)) - 1
            source_image, source_label = source_image.to(device), source_label.to(device)
            feature = encoder(torch.cat((source_image, target_image.to(device)), 0))
            class_loss = classifier_criterion(classifier(feature[:len(source_image)]), source_label)
            domain_label = torch.cat((torch.zeros(len(source_image)), torch.ones(len(target_image)))).long().to(device)
            domain_loss = discriminator_criterion(discriminator(feature, alpha), domain_label)
            total_loss = class_loss + domain_loss
            optimizer.zero_grad()
            total_loss.backward()
            optimizer.step()
        print('epoch %d class %.4f domain %.4f' % (epoch, class_loss.item(), domain_loss.item()))


if __name__ == '__main__':
    main()
