import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class OptimWrapper:
    def __init__(self, optimizer, accumulative_counts=1):
        self.optimizer = optimizer
        self.accumulative_counts = accumulative_counts

    def backward(self, loss):
        (loss / self.accumulative_counts).backward()

    def step(self):
        self.optimizer.step()

    def zero_grad(self):
        self.optimizer.zero_grad()

    def update_params(self, loss):
        self.backward(loss)
        self.step()
        self.zero_grad()


class TinyDetector(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
        )
        self.neck = nn.Conv2d(16, 16, 1)
        self.cls_head = nn.Linear(16, num_classes)
        self.bbox_head = nn.Linear(16, 4)

    def forward(self, img):
        x = self.neck(self.backbone(img)).mean(dim=(2, 3))
        return self.cls_head(x), self.bbox_head(x)

    def loss(self, img, label, bbox):
        cls_score, bbox_pred = self(img)
        return {
            "loss_cls": F.cross_entropy(cls_score, label),
            "loss_bbox": F.smooth_l1_loss(bbox_pred, bbox),
        }

    def train_step(self, data, optim_wrapper):
        losses = self.loss(*data)
        total = sum(losses.values())
        optim_wrapper.backward(total)
        grads = grad_report(self)
        optim_wrapper.step()
        optim_wrapper.zero_grad()
        log_vars = {k: v.item() for k, v in losses.items()}
        log_vars["loss"] = total.item()
        return log_vars, grads


def grad_report(model):
    report = {}
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        report[name] = None if param.grad is None else param.grad.norm().item()
    return report


def main():
    torch.manual_seed(0)
    imgs = torch.randn(32, 3, 32, 32)
    labels = torch.randint(0, 3, (32,))
    boxes = torch.rand(32, 4)
    loader = DataLoader(TensorDataset(imgs, labels, boxes), batch_size=8, shuffle=True)

    model = TinyDetector()
    model.train()
    wrapper = OptimWrapper(torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9))

    for epoch in range(2):
        for i, data in enumerate(loader):
            log_vars, grads = model.train_step(data, wrapper)
            dead = [name for name, value in grads.items() if value is None]
            print(f"epoch {epoch} iter {i} loss {log_vars['loss']:.4f} "
                  f"parameters without gradient: {len(dead)} of {len(grads)}")


if __name__ == "__main__":
    main()
