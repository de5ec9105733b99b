import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score, roc_auc_score
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import mobilenet_v3_small

torch.manual_seed(5)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')


def make_xray_data(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 3, 64, 64) * 0.5
    x[y == 1, :, 20:40, 20:40] += 1.0
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, train_dl, val_dl, lr=1e-3):
        self.model = model.to(device)
        self.train_dl = train_dl
        self.val_dl = val_dl
        self.criterion = nn.CrossEntropyLoss().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        losses = []
        for x, y in self.train_dl:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return float(np.mean(losses))

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        y_true, y_score = [], []
        for x, y in self.val_dl:
            logits = self.model(x.to(device))
            prob = torch.softmax(logits, dim=1)[:, 1]
            y_true.append(y.numpy())
            y_score.append(prob.cpu().numpy())
        y_true = np.concatenate(y_true)
        y_score = np.concatenate(y_score)
        return {
            'auc': roc_auc_score(y_true, y_score),
            'f1': f1_score(y_true, y_score > 0.5),
        }

    def fit(self, epochs):
        best = 0.0
        for epoch in range(epochs):
            loss = self.train_epoch()
            metrics = self.validate()
            best = max(best, metrics['auc'])
            print(f"[{epoch}] loss={loss:.4f} auc={metrics['auc']:.3f} f1={metrics['f1']:.3f}")
        return best


def main():
    model = mobilenet_v3_small(weights=None)
    model.classifier[3] = nn.Linear(model.classifier[3].in_features, 2)
    train_dl = DataLoader(make_xray_data(96), batch_size=16, shuffle=True, drop_last=True)
    val_dl = DataLoader(make_xray_data(48), batch_size=16)
    trainer = Trainer(model, train_dl, val_dl)
    print('best auc', trainer.fit(2))


if __name__ == '__main__':
    main()
