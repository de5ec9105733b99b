import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def backbone(width=16):
    """stands for the pretrained feature extractor"""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2))


class TransferLearningModel(nn.Module):
    def __init__(self, lr=2e-3, lr_scheduler_gamma=0.5, milestones=(4, 8)):
        super().__init__()
        self.feature_extractor = backbone()
        self.fc = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 1))
        self.loss_func = F.binary_cross_entropy_with_logits
        self.lr = lr
        self.gamma = lr_scheduler_gamma
        self.milestones = milestones

    def forward(self, x):
        x = self.feature_extractor(x).flatten(1)
        x = self.fc(x)
        return torch.sigmoid(x)

    def loss(self, y_hat, y):
        return self.loss_func(input=y_hat, target=y)

    def step(self, batch):
        x, y = batch
        y_hat = self(x)
        y_true = y.view((-1, 1)).float()
        right = ((y_hat > 0.5) == (y_true > 0.5)).float().mean()
        return self.loss(y_hat, y_true), right.item()

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, list(self.milestones), gamma=self.gamma)
        return optimizer, scheduler


def cats_and_dogs(n, size=16):
    """1: a bright blob in the upper half, 0: in the lower half, on noisy backgrounds"""
    gen = torch.Generator().manual_seed(8)
    y = torch.randint(0, 2, (n,), generator=gen)
    x = 0.7 * torch.randn(n, 3, size, size, generator=gen)
    for i in range(n):
        r = int(torch.randint(0, size // 2 - 4, (1,), generator=gen)) + (0 if y[i] else size // 2)
        c = int(torch.randint(0, size - 4, (1,), generator=gen))
        x[i, :, r:r + 4, c:c + 4] += 1.5
    return TensorDataset(x, y)


def fit(model, train, val, epochs):
    optimizer, scheduler = model.configure_optimizers()
    for epoch in range(epochs):
        model.train()
        losses = []
        for batch in train:
            loss, _ = model.step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            scores = [model.step(batch) for batch in val]
        val_loss = sum(s[0].item() for s in scores) / len(scores)
        val_acc = sum(s[1] for s in scores) / len(scores)
        print(f"epoch {epoch} train_loss {sum(losses) / len(losses):.4f} val_loss {val_loss:.4f} val_acc {val_acc:.3f}")


def main():
    torch.manual_seed(0)
    data = cats_and_dogs(480)
    train = torch.utils.data.Subset(data, range(400))
    val = torch.utils.data.Subset(data, range(400, 480))
    fit(TransferLearningModel(), DataLoader(train, batch_size=40, shuffle=True), DataLoader(val, batch_size=40), epochs=8)


if __name__ == "__main__":
    main()
