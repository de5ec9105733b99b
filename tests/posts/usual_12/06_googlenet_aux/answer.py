import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

# was: resnet18 -- the supervisor wants to see GoogLeNet in the comparison table


class MaskWearDataset(Dataset):
    """Face crops with / without / wrongly worn mask."""

    def __init__(self, n, seed, tf):
        rng = np.random.RandomState(seed)
        self.y = rng.randint(0, 3, n)
        self.x = rng.randint(0, 120, (n, 96, 96, 3)).astype(np.uint8)
        for i, y in enumerate(self.y):
            if y > 0:
                self.x[i, 40 + 20 * (y - 1):80, 20:76] = [120, 200, 230]
        self.tf = tf

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.tf(self.x[i]), int(self.y[i])


def build_model(name, num_classes):
    if name == "resnet18":
        model = torchvision.models.resnet18(weights=None)
        model.fc = nn.Linear(model.fc.in_features, num_classes)
    elif name == "googlenet":
        model = torchvision.models.googlenet(weights=None, num_classes=num_classes, init_weights=False,
                                             aux_logits=False)
    else:
        raise ValueError(name)
    return model


def train_one_epoch(model, loader, criterion, optimizer, device):
    model.train()
    running, seen = 0.0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * y.size(0)
        seen += y.size(0)
    return running / seen


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    ok = 0
    for x, y in loader:
        ok += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    return ok / len(loader.dataset)


def main():
    torch.manual_seed(7)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    tf = transforms.Compose([
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    train_dl = DataLoader(MaskWearDataset(64, 0, tf), batch_size=16, shuffle=True)
    val_dl = DataLoader(MaskWearDataset(32, 1, tf), batch_size=16)

    model = build_model("googlenet", num_classes=3).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(1):
        loss = train_one_epoch(model, train_dl, criterion, optimizer, device)
        print("epoch %d  loss %.3f  val acc %.3f" % (epoch, loss, validate(model, val_dl, device)))


main()
