import copy
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

model_names = sorted(n for n in models.__dict__ if n.islower() and not n.startswith("__") and callable(models.__dict__[n]))
arch = "resnet18"
assert arch in model_names


def fill_folder(root):
    rng = np.random.RandomState(2)
    for split, n in (("train", 12), ("val", 6)):
        for k, name in enumerate(("ants", "bees")):
            d = os.path.join(root, split, name)
            os.makedirs(d)
            for i in range(n):
                img = rng.randint(0, 120, (80, 80, 3)) + np.array([0, 0, 100]) * k
                Image.fromarray(img.astype(np.uint8)).save(os.path.join(d, "%02d.png" % i))


data_dir = tempfile.mkdtemp()
fill_folder(data_dir)
torch.manual_seed(0)

normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
tf = {
    "train": transforms.Compose([transforms.RandomResizedCrop(64), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize]),
    "val": transforms.Compose([transforms.Resize(72), transforms.CenterCrop(64), transforms.ToTensor(), normalize]),
}
image_sets = {s: datasets.ImageFolder(os.path.join(data_dir, s), tf[s]) for s in tf}
loaders = {s: DataLoader(image_sets[s], batch_size=6, shuffle=s == "train") for s in tf}
print(image_sets["train"].class_to_idx)

model = models.__dict__[arch](weights=None, num_classes=1)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)

best_acc, best_state = 0.0, None
for epoch in range(2):
    for phase in ("train", "val"):
        model.train(phase == "train")
        running_loss, running_correct = 0.0, 0
        for inputs, labels in loaders[phase]:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            preds = (outputs.detach().view(-1) > 0).long()
            running_loss += loss.item() * inputs.size(0)
            running_correct += (preds == labels).sum().item()
        n = len(image_sets[phase])
        acc = running_correct / n
        print("%d %s loss %.4f acc %.4f" % (epoch, phase, running_loss / n, acc))
        if phase == "val" and acc >= best_acc:
            best_acc, best_state = acc, copy.deepcopy(model.state_dict())
    scheduler.step()

model.load_state_dict(best_state)
print("best val acc %.4f" % best_acc)
