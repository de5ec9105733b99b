import csv
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

np.random.seed(1)
torch.manual_seed(1)
n, k, n_classes = 157, 5, 3

labels = np.random.randint(0, n_classes, n)
features = np.random.randn(n_classes, 4)[labels] * 1.5 + np.random.randn(n, 4)
np.savetxt('flowers.csv', np.column_stack([features, labels]), delimiter=',')

table = np.loadtxt('flowers.csv', delimiter=',')
X = torch.from_numpy(table[:, :4]).float()
y = torch.from_numpy(table[:, 4]).long()
dataset = TensorDataset(X, y)


def new_model():
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, n_classes))


def reset_seed(fold):
    torch.manual_seed(100 + fold)


folds = np.array_split(np.random.permutation(n), k)
oof = np.zeros((n, n_classes), dtype=np.float32)
fold_acc = []
for fold in range(k):
    reset_seed(fold)
    val_idx = folds[fold]
    trn_idx = np.concatenate(folds[:fold] + folds[fold + 1:])
    trn = DataLoader(dataset, batch_size=20, sampler=SubsetRandomSampler(trn_idx.tolist()), drop_last=True)
    net = new_model()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.StepLR(opt, 4, 0.3)
    for epoch in range(8):
        net.train()
        for xb, yb in trn:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(xb), yb)
            loss.backward()
            opt.step()
        sched.step()
    net.eval()
    with torch.no_grad():
        oof[val_idx] = net(X[val_idx]).softmax(1).numpy()
    acc = (oof[val_idx].argmax(1) == labels[val_idx]).mean()
    fold_acc.append(acc)
    print('fold', fold, 'loss', round(loss.item(), 4), 'acc', round(float(acc), 4))

pred = oof.argmax(1)
confusion = np.zeros((n_classes, n_classes), dtype=int)
np.add.at(confusion, (labels, pred), 1)
print(confusion)
tp = np.diag(confusion)
precision = tp / np.maximum(confusion.sum(0), 1)
recall = tp / np.maximum(confusion.sum(1), 1)
f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
print('macro f1', f1.mean().round(4), 'acc', np.mean(fold_acc).round(4), '+-', np.std(fold_acc).round(4))

with open('oof.csv', 'w', newline='') as f:
    w = csv.writer(f)
    w.writerow(['id', 'label'] + [f'p{c}' for c in range(n_classes)])
    for i in range(n):
        w.writerow([i, labels[i]] + oof[i].round(5).tolist())
