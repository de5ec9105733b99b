import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

parser = argparse.ArgumentParser(description='Rotation voting on multi-view renderings')
parser.add_argument('-b', '--batch-size', default=24, type=int)
parser.add_argument('--lr', default=0.01, type=float)
parser.add_argument('--epochs', default=2, type=int)
args = parser.parse_args()

CLASSES = ['bathtub', 'chair', 'lamp', 'plant', 'sofa']
nview = 12
vcand = np.array([[(v + r) % nview for v in range(nview)] for r in range(nview)])


def render_all(root):
    """one .npy picture per view: <class>_<object>_<view>.npy"""
    rng = np.random.RandomState(11)
    os.makedirs(root)
    for c, name in enumerate(CLASSES):
        for obj in range(1, 7):
            for view in range(1, nview + 1):
                img = 0.3 * rng.randn(1, 16, 16)
                img[0, 2 + c * 2: 5 + c * 2, view: view + 3] += 2.0
                np.save(os.path.join(root, '%s_%04d_%03d.npy' % (name, obj, view)), img.astype('float32'))


def link_images(src, dst, objects, views):
    for split, objs in objects.items():
        for name in CLASSES:
            folder = os.path.join(dst, split, name)
            os.makedirs(folder)
            for obj in objs:
                for view in views[split]:
                    fname = '%s_%04d_%03d.npy' % (name, obj, view)
                    os.symlink(os.path.join(src, fname), os.path.join(folder, fname))


class ViewFolder(Dataset):
    def __init__(self, root):
        self.samples = []
        for label, name in enumerate(sorted(os.listdir(root))):
            for fname in sorted(os.listdir(os.path.join(root, name))):
                self.samples.append((os.path.join(root, name, fname), label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        path, label = self.samples[i]
        return torch.from_numpy(np.load(path)), label


class FineTuneModel(nn.Module):
    def __init__(self, num_out):
        super(FineTuneModel, self).__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(32 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, num_out))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def train(loader, model, criterion, optimizer, num_classes):
    model.train()
    for inputs, target in loader:
        nsamp = inputs.size(0) // nview
        output = model(inputs).view(nsamp * nview, nview, num_classes + 1)
        scores = torch.log_softmax(output, 2)
        scores = (scores[..., :-1] - scores[..., -1:]).detach().view(nsamp, nview, nview, num_classes)
        full = torch.full((nsamp, nview, nview), num_classes, dtype=torch.long)
        for n in range(nsamp):
            cls = target[n * nview].item()
            total = [scores[n, torch.arange(nview), torch.from_numpy(vcand[r]), cls].sum() for r in range(nview)]
            full[n, torch.arange(nview), torch.from_numpy(vcand[int(np.argmax(total))])] = cls
        loss = criterion(output.reshape(-1, num_classes + 1), full.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def validate(loader, model, num_classes):
    model.eval()
    correct = seen = 0
    with torch.no_grad():
        for inputs, target in loader:
            output = torch.log_softmax(model(inputs).view(-1, nview, num_classes + 1), 2)
            output = output[..., :-1] - output[..., -1:]
            output = output.reshape(-1, num_classes)
            output = output.view(-1, nview * nview, num_classes)
            output = output.view(-1, nview, nview, num_classes)
            votes = torch.stack([output[:, torch.arange(nview), torch.from_numpy(v)].sum(1) for v in vcand], 1)
            pred = votes.max(1)[0].argmax(1)
            correct += (pred == target[::nview]).sum().item()
            seen += len(pred)
    return 100.0 * correct / seen


with tempfile.TemporaryDirectory() as tmp:
    torch.manual_seed(0)
    render_all(os.path.join(tmp, 'renders'))
    link_images(os.path.join(tmp, 'renders'), os.path.join(tmp, 'ModelViews'),
                objects={'train': [1, 2, 3, 4], 'test': [5, 6]},
                views={'train': range(1, nview + 1), 'test': range(1, nview)})
    train_loader = DataLoader(ViewFolder(os.path.join(tmp, 'ModelViews', 'train')), batch_size=args.batch_size)
    val_loader = DataLoader(ViewFolder(os.path.join(tmp, 'ModelViews', 'test')), batch_size=args.batch_size)
    model = FineTuneModel((len(CLASSES) + 1) * nview)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        loss = train(train_loader, model, nn.CrossEntropyLoss(), optimizer, len(CLASSES))
        prec1 = validate(val_loader, model, len(CLASSES))
        print('Epoch [%d] loss %.4f  Prec@1 %.2f' % (epoch, loss, prec1))
