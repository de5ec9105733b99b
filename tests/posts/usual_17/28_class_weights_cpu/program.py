import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import classification_report
from sklearn.utils.class_weight import compute_class_weight
from torch.utils.data import DataLoader, TensorDataset
import timm

torch.manual_seed(0)
np.random.seed(0)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
LABELS = ['benign', 'malignant', 'other']


def make_lesions(n):
    y = np.random.choice(3, n, p=[0.7, 0.1, 0.2])
    x = np.random.randn(n, 3, 64, 64).astype(np.float32) * 0.4
    for i, c in enumerate(y):
        x[i, c, 16:48, 16:48] += 1.0
    return torch.from_numpy(x), torch.from_numpy(y)


def build_model():
    model = timm.create_model('resnet18', pretrained=False, num_classes=len(LABELS))
    return model.to(device)


def build_criterion(y):
    weights = compute_class_weight('balanced', classes=np.unique(y.numpy()), y=y.numpy())
    weights = torch.tensor(weights, dtype=torch.float32)
    return nn.CrossEntropyLoss(weight=weights, label_smoothing=0.05)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    preds, gts = [], []
    for x, y in loader:
        preds.append(model(x.to(device)).argmax(1).cpu())
        gts.append(y)
    return torch.cat(gts).numpy(), torch.cat(preds).numpy()


def train(model, loader, criterion, optimizer, scheduler):
    model.train()
    running = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * x.size(0)
    scheduler.step()
    return running / len(loader.dataset)


def main():
    x_tr, y_tr = make_lesions(96)
    x_va, y_va = make_lesions(48)
    train_dl = DataLoader(TensorDataset(x_tr, y_tr), batch_size=16, shuffle=True)
    val_dl = DataLoader(TensorDataset(x_va, y_va), batch_size=16)
    model = build_model()
    criterion = build_criterion(y_tr)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    for epoch in range(2):
        loss = train(model, train_dl, criterion, optimizer, scheduler)
        print('epoch', epoch, 'loss', round(loss, 4))
    gts, preds = evaluate(model, val_dl)
    print(classification_report(gts, preds, labels=[0, 1, 2], target_names=LABELS, zero_division=0))


if __name__ == '__main__':
    main()
