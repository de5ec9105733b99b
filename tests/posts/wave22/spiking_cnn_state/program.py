import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class SpikeFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        (v,) = ctx.saved_tensors
        return grad_output / (1.0 + 25.0 * v.abs()) ** 2


class LeakyNeuron(nn.Module):
    def __init__(self, beta=0.9, threshold=1.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold
        self.mem = None

    def forward(self, current):
        if self.mem is None:
            self.mem = torch.zeros_like(current)
        self.mem = self.beta * self.mem + current
        spike = SpikeFunction.apply(self.mem - self.threshold)
        self.mem = self.mem - spike.detach() * self.threshold
        return spike


def reset(net):
    for module in net.modules():
        if isinstance(module, LeakyNeuron):
            module.mem = None


net = nn.Sequential(
    nn.Conv2d(1, 6, 5),
    nn.MaxPool2d(2),
    LeakyNeuron(),
    nn.Conv2d(6, 12, 3),
    nn.MaxPool2d(2),
    LeakyNeuron(),
    nn.Flatten(),
    nn.Linear(12 * 2 * 2, 4),
    LeakyNeuron(),
).to(device)


def forward_pass(net, data, num_steps):
    spikes = []
    for _ in range(num_steps):
        spikes.append(net(data))
    return torch.stack(spikes)


def evaluate(net, loader, num_steps):
    correct = 0
    with torch.no_grad():
        for data, targets in loader:
            reset(net)
            spikes = torch.stack([net(data.to(device)) for _ in range(num_steps)])
            correct += (spikes.sum(0).argmax(1).cpu() == targets).sum().item()
    return correct / len(loader.dataset)


labels = torch.randint(0, 4, (256,))
images = 0.2 * torch.rand(256, 1, 16, 16)
for i, label in enumerate(labels):
    images[i, 0, 4 * label:4 * label + 4] += 0.8
train_loader = DataLoader(TensorDataset(images[:192], labels[:192]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(images[192:], labels[192:]), batch_size=32)

optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
num_steps = 10

for epoch in range(4):
    for data, targets in train_loader:
        data, targets = data.to(device), targets.to(device)
        spk_rec = forward_pass(net, data, num_steps)
        loss = loss_fn(spk_rec.sum(0), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {evaluate(net, test_loader, num_steps):.2f}")
