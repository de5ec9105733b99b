import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def CORAL(source, target):
    d = source.data.shape[1]

    # source covariance
    xm = torch.mean(source, 0, keepdim=True) - source
    xc = torch.matmul(torch.transpose(xm, 0, 1), xm)

    # target covariance
    xmt = torch.mean(target, 0, keepdim=True) - target
    xct = torch.matmul(torch.transpose(xmt, 0, 1), xmt)

    # frobenius norm between source and target
    loss = torch.mean(torch.mul((xc - xct), (xc - xct)))
    return loss / (4 * d * d)


class DeepCORAL(nn.Module):
    def __init__(self, num_classes=31):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(48 * 16, 128), nn.ReLU(inplace=True))
        self.fc = nn.Linear(128, num_classes)
        self.fc.weight.data.normal_(0, 0.005)

    def embed(self, x):
        return self.fc(self.classifier(self.features(x).flatten(1)))

    def forward(self, source, target):
        return self.embed(source), self.embed(target)


def office(domain, n=160, num_classes=31):
    """images of a domain of the office set (amazon has white backgrounds, a webcam is darker)"""
    g = torch.Generator().manual_seed(7)
    proto = torch.rand(num_classes, 3, 32, 32, generator=g)
    label = torch.randint(num_classes, (n,))
    noise = 0.1 * torch.randn(n, 3, 32, 32)
    image = proto[label] if domain == 'amazon' else proto[label] * 0.6 + 0.1
    return TensorDataset(image + noise, label)


def train(model, optimizer, source_loader, target_loader, epoch, lambda_, device):
    model.train()
    for batch_idx, ((s, s_label), (t, _)) in enumerate(zip(source_loader, target_loader)):
        out1, out2 = model(s.to(device), t.to(device))
        classification_loss = F.cross_entropy(out1, s_label.to(device))
        coral_loss = CORAL(out1, out2)
        sum_loss = lambda_ * coral_loss + classification_loss
        optimizer.zero_grad()
        sum_loss.backward()
        optimizer.step()
    print('Train Epoch: {:2d}\tLambda: {:.4f}, Class: {:.6f}, CORAL: {:.8f}'.format(
        epoch, lambda_, classification_loss.item(), coral_loss.item()))


@torch.no_grad()
def test(model, dataset_loader, device):
    model.eval()
    correct = 0
    for data, target in dataset_loader:
        correct += (model.embed(data.to(device)).argmax(1).cpu() == target).sum().item()
    return 100. * correct / len(dataset_loader.dataset)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=4)
    parser.add_argument('--batch', type=int, default=32)
    parser.add_argument('--lr', type=float, default=3e-2)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
    source_loader = DataLoader(office('amazon'), batch_size=args.batch, shuffle=True)
    target_loader = DataLoader(office('webcam'), batch_size=args.batch, shuffle=True)
    model = DeepCORAL().to(device)
    optimizer = torch.optim.SGD([{'params': model.features.parameters()}, {'params': model.classifier.parameters()},
                                 {'params': model.fc.parameters(), 'lr': 10 * args.lr}], lr=args.lr, momentum=0.9)
    for e in range(args.epochs):
        train(model, optimizer, source_loader, target_loader, e + 1, (e + 1) / args.epochs, device)
        print('###Test Target: Epoch: {}, Accuracy: {:.2f}%'.format(e + 1, test(model, target_loader, device)))
