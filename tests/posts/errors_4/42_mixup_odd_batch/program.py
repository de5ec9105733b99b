import torch
import timm
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
N_CLASSES = 6

images = torch.rand(45, 3, 64, 64)
labels = torch.randint(0, N_CLASSES, (45,))
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)

model = timm.create_model("resnet10t", pretrained=False, num_classes=N_CLASSES)
mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=N_CLASSES)
criterion = SoftTargetCrossEntropy()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)

for epoch in range(1):
    model.train()
    seen = 0
    for x, y in loader:
        x, target = mixup(x, y)
        loss = criterion(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += len(x)
    print(f"epoch {epoch}: {seen} images, loss {loss.item():.3f}")
