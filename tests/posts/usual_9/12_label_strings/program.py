import os
import glob
import random

import numpy as np
from PIL import Image
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
import torchvision.transforms as T

device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')

# --- create a toy version of the leaf disease pictures: leaves/<class>_<number>.jpg
os.makedirs('leaves', exist_ok=True)
rs = np.random.RandomState(0)
for cls, rgb in [('healthy', (40, 160, 40)), ('rust', (170, 90, 30)), ('mildew', (190, 200, 190))]:
    for k in range(30):
        a = rs.normal(rgb, 30, size=(48, 48, 3)).clip(0, 255).astype(np.uint8)
        Image.fromarray(a).save('leaves/%s_%03d.jpg' % (cls, k))


class LeafDataset(Dataset):
    classes = ['healthy', 'mildew', 'rust']

    def __init__(self, files, transform=None):
        self.files = files
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, idx):
        path = self.files[idx]
        image = Image.open(path).convert('RGB')
        if self.transform is not None:
            image = self.transform(image)
        label = os.path.basename(path).split('_')[0]
        return image, label


class LeafCNN(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 5, padding=2)
        self.fc = nn.Linear(32 * 12 * 12, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


random.seed(0)
torch.manual_seed(0)
files = sorted(glob.glob('leaves/*.jpg'))
random.shuffle(files)
normalize = T.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
train_tf = T.Compose([T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.ToTensor(), normalize])
val_tf = T.Compose([T.ToTensor(), normalize])

train_ds = LeafDataset(files[:70], train_tf)
val_ds = LeafDataset(files[70:], val_tf)
train_dl = DataLoader(train_ds, batch_size=10, shuffle=True)
val_dl = DataLoader(val_ds, batch_size=10, shuffle=False)

net = LeafCNN(len(LeafDataset.classes)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(3):
    net.train()
    train_loss = 0.
    for i, data in enumerate(train_dl, 0):
        images, labels = data
        images = images.to(device)
        labels = labels.to(device)
        optimizer.zero_grad()
        outputs = net(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * images.size(0)

    net.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in val_dl:
            outputs = net(images.to(device))
            correct += (outputs.argmax(1) == labels.to(device)).sum().item()
    print('[%d] loss: %.3f  val acc: %.3f' % (epoch + 1, train_loss / len(train_ds), correct / len(val_ds)))
