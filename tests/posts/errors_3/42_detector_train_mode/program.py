import torch
from torchvision.models.detection import fcos_resnet50_fpn

torch.manual_seed(0)


def make_images(n, size=64):
    images, targets = [], []
    for _ in range(n):
        img = torch.rand(3, size, size) * 0.3
        x, y = torch.randint(0, size - 24, (2,)).tolist()
        img[:, y:y + 20, x:x + 20] += 0.6
        images.append(img)
        targets.append({
            "boxes": torch.tensor([[x, y, x + 20, y + 20]], dtype=torch.float32),
            "labels": torch.tensor([1]),
        })
    return images, targets


model = fcos_resnet50_fpn(weights=None, weights_backbone=None, num_classes=2, min_size=64, max_size=64)
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(params, lr=0.001, momentum=0.9)

model.train()
for step in range(2):
    images, targets = make_images(2)
    losses = model(images)
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} " + " ".join(f"{k} {v.item():.3f}" for k, v in losses.items()))
