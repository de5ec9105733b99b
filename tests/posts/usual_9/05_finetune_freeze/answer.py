import time
import copy

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset
import torchvision.models as models

torch.manual_seed(42)
class_names = ['ants', 'bees', 'wasps']


def fake_split(n):
    y = torch.randint(0, len(class_names), (n,))
    x = torch.randn(n, 3, 64, 64) * 0.5
    x += y.view(-1, 1, 1, 1) * 0.4
    return TensorDataset(x, y)


image_datasets = {'train': fake_split(60), 'val': fake_split(24)}
dataloaders = {x: DataLoader(image_datasets[x], batch_size=12, shuffle=(x == 'train')) for x in ['train', 'val']}
dataset_sizes = {x: len(image_datasets[x]) for x in ['train', 'val']}
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

# the weights of our earlier run on the big insect collection, 1000 classes
torch.save(models.resnet18(weights=None).state_dict(), 'insects1000_resnet18.pth')


def train_model(model, criterion, optimizer, scheduler, num_epochs=2):
    since = time.time()
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0

    for epoch in range(num_epochs):
        print('Epoch {}/{}'.format(epoch, num_epochs - 1))
        for phase in ['train', 'val']:
            if phase == 'train':
                model.train()
            else:
                model.eval()

            running_loss = 0.0
            running_corrects = 0
            for inputs, labels in dataloaders[phase]:
                inputs = inputs.to(device)
                labels = labels.to(device)
                optimizer.zero_grad()

                with torch.set_grad_enabled(phase == 'train'):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == 'train':
                        loss.backward()
                        optimizer.step()

                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data).item()

            if phase == 'train':
                scheduler.step()
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects / dataset_sizes[phase]
            print('{} Loss: {:.4f} Acc: {:.4f}'.format(phase, epoch_loss, epoch_acc))
            if phase == 'val' and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())

    print('Training complete in {:.0f}s, best val Acc: {:4f}'.format(time.time() - since, best_acc))
    model.load_state_dict(best_model_wts)
    return model


model_ft = models.resnet18(weights=None)
model_ft.load_state_dict(torch.load('insects1000_resnet18.pth'))
# only train the new classifier
for param in model_ft.parameters():
    param.requires_grad = False

num_ftrs = model_ft.fc.in_features
model_ft.fc = nn.Sequential(
    nn.Linear(num_ftrs, 64),
    nn.ReLU(),
    nn.Linear(64, len(class_names)),
)

model_ft = model_ft.to(device)
criterion = nn.CrossEntropyLoss()
optimizer_ft = optim.SGD(model_ft.fc.parameters(), lr=0.01, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=7, gamma=0.1)

model_ft = train_model(model_ft, criterion, optimizer_ft, exp_lr_scheduler)
torch.save(model_ft.state_dict(), 'insects3.pth')
