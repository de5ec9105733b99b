import argparse
import os

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

parser = argparse.ArgumentParser(description='Scenes of Xi\'an')
parser.add_argument('--outf', default='./model', help='folder of the checkpoints')
parser.add_argument('--classes', default=54, type=int)
parser.add_argument('--epochs', default=1, type=int)
args = parser.parse_args()

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def build_loader(train):
    steps = [transforms.Resize((64, 64))]
    if train:
        steps.append(transforms.RandomHorizontalFlip())
    steps += [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    data = datasets.FakeData(36, (3, 80, 100), args.classes, transforms.Compose(steps))
    return DataLoader(data, batch_size=16, shuffle=train)


def main():
    os.makedirs(args.outf, exist_ok=True)
    trainloader, testloader = build_loader(True), build_loader(False)

    net = models.resnet18(num_classes=args.classes)
    net = nn.DataParallel(net).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

    for epoch in range(args.epochs):
        net.train()
        for i, (inputs, labels) in enumerate(trainloader):
            inputs, labels = inputs.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()
            print('[epoch:%d, iter:%d] loss: %.3f' % (epoch + 1, i + 1, loss.item()))

        net.eval()
        correct = total = 0
        with torch.no_grad():
            for images, labels in testloader:
                predicted = net(images.to(device)).argmax(1).cpu()
                total += labels.size(0)
                correct += (predicted == labels).sum().item()
        print('accuracy: %.3f%%' % (100.0 * correct / total))
        torch.save(net.module(), '%s/net_%03d.pth' % (args.outf, epoch + 1))


if __name__ == "__main__":
    main()
