import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                e_w = p.grad * scale
                p.add_(e_w)
                self.state[p]["e_w"] = e_w
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.sub_(self.state[p]["e_w"])
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _grad_norm(self):
        norms = [p.grad.norm(p=2) for group in self.param_groups for p in group["params"] if p.grad is not None]
        return torch.norm(torch.stack(norms), p=2)


class SmallConvNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 8 * 8, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def accuracy(output, target):
    return (output.argmax(dim=1) == target).float().mean().item() * 100.0


def train(loader, model, criterion, optimizer, device):
    model.train()
    loss_total, acc_total, seen = 0.0, 0.0, 0
    for images, target in loader:
        images = images.to(device)
        target = target.to(device)

        output = model(images)
        loss = criterion(output, target)
        loss.backward()
        optimizer.first_step(zero_grad=True)

        criterion(model(images), target).backward()
        optimizer.second_step(zero_grad=True)

        loss_total += loss.item() * images.size(0)
        acc_total += accuracy(output, target) * images.size(0)
        seen += images.size(0)
    return loss_total / seen, acc_total / seen


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images = torch.randn(128, 3, 32, 32)
    labels = torch.randint(0, 10, (128,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

    model = SmallConvNet().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    for epoch in range(2):
        loss, acc = train(loader, model, criterion, optimizer, device)
        print(f"Epoch {epoch}: loss {loss:.4f}  acc@1 {acc:.2f}")


if __name__ == "__main__":
    main()
