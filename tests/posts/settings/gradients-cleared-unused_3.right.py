# line 16: the gradients are cleared for each micro batch, so of four accumulated ones only the last is used
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Accumulator:
    def __init__(self, model, optimizer, micro_batches):
        self.model, self.optimizer, self.n = model, optimizer, micro_batches
        self.loss_fn = nn.CrossEntropyLoss()

    def run(self, loader):
        self.model.train()
        seen = 0.0
        self.optimizer.zero_grad()
        for k, (pixels, digit) in enumerate(loader, start=1):
            loss = self.loss_fn(self.model(pixels), digit)
            (loss / self.n).backward()
            seen += loss.item() * len(digit)
            if k % self.n == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        return seen / len(loader.dataset)


def patches(n):
    digit = torch.randint(0, 4, (n,))
    pixels = 0.4 * torch.randn(n, 1, 8, 8)
    pixels[torch.arange(n), 0, digit * 2] += 1.0
    return TensorDataset(pixels, digit)


class PatchMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = nn.Conv2d(1, 12, kernel_size=(1, 8))
        self.out = nn.Linear(96, 4)

    def forward(self, x):
        return self.out(torch.relu(self.cut(x)).flatten(1))


torch.manual_seed(0)
mixer = PatchMixer()
optimizer = torch.optim.SGD(mixer.parameters(), lr=0.1, momentum=0.9)
trainer = Accumulator(mixer, optimizer, micro_batches=4)
loader = DataLoader(patches(320), batch_size=10, shuffle=True)
for epoch in range(6):
    print(epoch, trainer.run(loader))

mixer.eval()
hits = 0
test = patches(100)
with torch.no_grad():
    for pixels, digit in DataLoader(test, batch_size=50):
        hits += (mixer(pixels).argmax(1) == digit).sum().item()
print("accuracy", hits / len(test))
