import copy
import time
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


def insects(n, seed):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 2, (n,), generator=g)
    images = torch.randn(n, 3, 32, 32, generator=g) * 0.4
    for i, l in enumerate(labels):
        size = 6 if l == 0 else 12
        r, c = torch.randint(0, 32 - size, (2,), generator=g).tolist()
        images[i, :, r:r + size, c:c + size] += 0.8
    return TensorDataset(images, labels)


def pretrained_features():
    torch.manual_seed(9)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4))


class Classifier(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.features = features
        self.fc = nn.Linear(32 * 16, 2)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


image_datasets = {'train': insects(244, 1), 'val': insects(153, 2)}
dataloaders = {x: DataLoader(image_datasets[x], batch_size=16, shuffle=x == 'train') for x in ['train', 'val']}
dataset_sizes = {x: len(image_datasets[x]) for x in ['train', 'val']}


def train_model(model, criterion, optimizer, scheduler, num_epochs):
    since = time.time()
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0
    for epoch in range(num_epochs):
        print('Epoch {}/{}'.format(epoch, num_epochs - 1))
        for phase in ['train', 'val']:
            model.train(phase == 'train')
            running_loss = 0.0
            running_corrects = 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == 'train'):
                    outputs = model(inputs)
                    preds = outputs.argmax(dim=1)
                    loss = criterion(outputs, labels)
                    if phase == 'train':
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item()
                running_corrects += torch.sum(preds == labels).item()
            if phase == 'train':
                scheduler.step()
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects / dataset_sizes[phase]
            print('{} Loss: {:.4f} Acc: {:.4f}'.format(phase, epoch_loss, epoch_acc))
            if phase == 'val' and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())
    print('Best val Acc: {:4f} ({:.0f}s)'.format(best_acc, time.time() - since))
    model.load_state_dict(best_model_wts)
    return model


if __name__ == '__main__':
    model_ft = Classifier(pretrained_features())
    optimizer_ft = optim.SGD(model_ft.parameters(), lr=0.005, momentum=0.9)
    exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=3, gamma=0.1)
    train_model(model_ft, nn.CrossEntropyLoss(), optimizer_ft, exp_lr_scheduler, num_epochs=4)
