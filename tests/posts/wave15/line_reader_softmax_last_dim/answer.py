import torch
import torch.nn as nn
import torch.nn.functional as F

WINDOW = 8
ALPHABET = "abcdefgh"


class Accuracy:
    """running accuracy over (B, C) or (B, C, S) probabilities"""

    def __init__(self):
        self.correct = 0
        self.total = 0

    def check(self, preds):
        sums = preds.sum(dim=1)
        if not torch.isclose(sums, torch.ones_like(sums), atol=1e-3).all():
            raise ValueError("Probabilities in `preds` must sum up to 1 accross the `C` dimension.")

    def update(self, preds, target):
        preds = F.softmax(preds, dim=1)
        self.check(preds)
        self.correct += (preds.argmax(dim=1) == target).sum().item()
        self.total += target.numel()

    def compute(self):
        return self.correct / max(self.total, 1)

    def reset(self):
        self.correct = self.total = 0


class GlyphSet:
    """letters are fixed random bitmaps; lines are letters side by side"""

    def __init__(self, seed=0):
        self.gen = torch.Generator().manual_seed(seed)
        self.glyphs = (torch.rand(len(ALPHABET), WINDOW, WINDOW, generator=self.gen) > 0.5).float()

    def lines(self, n, length):
        y = torch.randint(0, len(ALPHABET), (n, length), generator=self.gen)
        x = self.glyphs[y].permute(0, 2, 1, 3).reshape(n, 1, WINDOW, length * WINDOW)
        return x + 0.6 * torch.randn(x.shape, generator=self.gen), y


class LineCNNSimple(nn.Module):
    def __init__(self, num_classes, width=32):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU())
        self.window = nn.Conv2d(width, 64, WINDOW, stride=WINDOW)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        h = F.relu(self.window(self.conv(x))).squeeze(2)
        return self.fc(h.permute(0, 2, 1)).permute(0, 2, 1)


class LitModel:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.train_acc = Accuracy()
        self.val_acc = Accuracy()

    def training_step(self, x, y):
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.train_acc.update(logits.detach(), y)
        return loss.item()

    @torch.no_grad()
    def validation_step(self, x, y):
        self.val_acc.update(self.model(x), y)

    def fit(self, train, val, epochs, batch_size=32):
        for epoch in range(epochs):
            self.train_acc.reset()
            self.val_acc.reset()
            for idx in torch.randperm(len(train[0])).split(batch_size):
                loss = self.training_step(train[0][idx], train[1][idx])
            self.validation_step(*val)
            print(f"epoch {epoch} loss {loss:.3f} train_acc {self.train_acc.compute():.3f} "
                  f"val_acc {self.val_acc.compute():.3f}")


def main():
    torch.manual_seed(0)
    data = GlyphSet()
    lit = LitModel(LineCNNSimple(len(ALPHABET)))
    lit.fit(data.lines(320, 6), data.lines(64, 6), epochs=3)


if __name__ == "__main__":
    main()
