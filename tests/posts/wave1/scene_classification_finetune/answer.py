import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import models, transforms
from torchvision.datasets import FakeData


class cfg:
    NUM_CLASSES = 6
    BATCH_SIZE = 8
    LR = 1e-3
    MAX_EPOCH = 1
    INPUT_SIZE = 64


def resnet(num_classes):
    model = models.resnet18(weights=None)
    # pretrained = torch.load(cfg.PRETRAINED); model.load_state_dict(pretrained)
    num_features = model.fc.in_features
    model.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(num_features, num_classes))
    return model


def load_checkpoint(num_classes):
    model = resnet(num_classes)
    for param in model.parameters():
        param.requires_grad = True
    return model


transform = transforms.Compose([
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
])
train_data = FakeData(20, (3, cfg.INPUT_SIZE, cfg.INPUT_SIZE), cfg.NUM_CLASSES, transform)
train_loader = DataLoader(train_data, batch_size=cfg.BATCH_SIZE, shuffle=True)

print('==> loading model')
model = load_checkpoint(cfg.NUM_CLASSES)

optimizer = optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=cfg.LR)
criterion = nn.CrossEntropyLoss()
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

for epoch in range(cfg.MAX_EPOCH):
    model.train()
    correct = 0
    for step, (img, label) in enumerate(train_loader):
        out = model(img)
        loss = criterion(out, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == label).sum().item()
        print('epoch:{} step:{} loss:{:.4f}'.format(epoch, step, loss.item()))
    scheduler.step()
    print('train acc: {:.3f}'.format(correct / len(train_data)))
