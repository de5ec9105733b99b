# line 19: the hook before each update steps the warm-up, so the optimizer never uses its first factor
import torch
from torch import nn


class Callback:
    def before_update(self, trainer):
        pass

    def after_update(self, trainer):
        pass


class WarmupCallback(Callback):
    def __init__(self, optimizer, warmup):
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, (k + 1) / warmup))

    def after_update(self, trainer):
        self.schedule.step()


class Trainer:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks

    def update(self, x, y):
        for callback in self.callbacks:
            callback.before_update(self)
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        for callback in self.callbacks:
            callback.after_update(self)
        return loss.item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = [self.update(x, y) for x, y in loader]
            print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


torch.manual_seed(95)
ids = torch.randint(60, (400, 7))
label = (ids < 12).any(dim=1).long()
model = nn.Sequential(nn.Embedding(60, 16), nn.Flatten(), nn.Linear(112, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
trainer = Trainer(model, optimizer, [WarmupCallback(optimizer, warmup=20)])
data = torch.utils.data.TensorDataset(ids, label)
trainer.fit(torch.utils.data.DataLoader(data, batch_size=40, shuffle=True), epochs=4)
