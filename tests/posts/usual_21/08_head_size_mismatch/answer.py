import io

import torch
import torch.nn as nn
from torchvision.models import resnet18

PRETRAIN_CLASSES = 100
NUM_CLASSES = 12


def pretrained_checkpoint():
    torch.manual_seed(0)
    source = resnet18(weights=None, num_classes=PRETRAIN_CLASSES)
    buffer = io.BytesIO()
    torch.save(source.state_dict(), buffer)
    buffer.seek(0)
    return buffer


def build_model(checkpoint_file):
    model = resnet18(weights=None, num_classes=NUM_CLASSES)
    state = torch.load(checkpoint_file, map_location="cpu")
    state = {k: v for k, v in state.items() if not k.startswith("fc.")}
    missing = model.load_state_dict(state, strict=False)
    print(missing)
    return model


def freeze_stem(model):
    for name, param in model.named_parameters():
        if name.startswith(("conv1", "bn1", "layer1")):
            param.requires_grad_(False)


def finetune(model, batches, lr=1e-3):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=1e-2)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for step, (images, labels) in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.4f}")


if __name__ == "__main__":
    model = build_model(pretrained_checkpoint())
    freeze_stem(model)
    batches = [
        (torch.randn(8, 3, 64, 64), torch.randint(0, NUM_CLASSES, (8,)))
        for _ in range(3)
    ]
    finetune(model, batches)
