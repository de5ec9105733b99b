import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class FlowerDataset(Dataset):
    def __init__(self, n, num_classes, size=64):
        generator = torch.Generator().manual_seed(0)
        self.images = torch.rand(n, 3, size, size, generator=generator)
        self.labels = torch.randint(0, num_classes, (n,), generator=generator)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.images[idx], self.labels[idx]


def build_model(num_classes):
    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=64, num_classes=num_classes)
    for param in model.parameters():
        param.require_grad = False
    model.head = nn.Linear(model.num_features, num_classes)
    return model


def main():
    torch.manual_seed(0)
    num_classes = 5
    loader = DataLoader(FlowerDataset(48, num_classes), batch_size=16, shuffle=True)
    model = build_model(num_classes)
    before = model.blocks[-1].mlp.fc1.weight.detach().clone()

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    model.train()
    for epoch in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")

    change = (model.blocks[-1].mlp.fc1.weight - before).abs().max().item()
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print("trainable parameters:", trainable)
    print("largest change in last block:", change)


if __name__ == "__main__":
    main()
