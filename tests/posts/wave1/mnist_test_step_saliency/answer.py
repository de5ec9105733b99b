import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import FakeData


class LitDigits(nn.Module):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 128), nn.ReLU(), nn.Linear(128, 10))
        self.lr = lr

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self(x), y)

    @torch.enable_grad()
    def test_step(self, batch):
        # how much does every pixel matter for the loss?
        x, y = batch
        x = x.clone().requires_grad_()
        loss = F.cross_entropy(self(x), y)
        loss.backward()
        return {'test_loss': loss.item(), 'saliency': x.grad.abs().mean().item()}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Trainer:
    def __init__(self, max_epochs=1):
        self.max_epochs = max_epochs

    def fit(self, model, dataloader):
        optimizer = model.configure_optimizers()
        model.train()
        for epoch in range(self.max_epochs):
            for batch in dataloader:
                optimizer.zero_grad()
                loss = model.training_step(batch)
                loss.backward()
                optimizer.step()
            print('epoch', epoch, 'train_loss', round(loss.item(), 4))

    @torch.no_grad()
    def test(self, model, dataloader):
        model.eval()
        outputs = [model.test_step(batch) for batch in dataloader]
        return {k: sum(o[k] for o in outputs) / len(outputs) for k in outputs[0]}


tf = transforms.Compose([transforms.Grayscale(), transforms.ToTensor()])
mnist_train = DataLoader(FakeData(200, (3, 28, 28), 10, tf), batch_size=64, shuffle=True)
mnist_test = DataLoader(FakeData(100, (3, 28, 28), 10, tf, random_offset=1000), batch_size=64)

model = LitDigits()
trainer = Trainer(max_epochs=1)
trainer.fit(model, mnist_train)
print(trainer.test(model, mnist_test))
