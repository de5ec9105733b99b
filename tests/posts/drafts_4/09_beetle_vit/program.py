import torch
from torch.utils.data import Dataset, DataLoader
from torchvision import transforms
from transformers import ViTConfig, ViTForImageClassification, get_linear_schedule_with_warmup
import numpy as np
from PIL import Image

FAMILIES = ["carabidae", "cerambycidae", "coccinellidae", "lucanidae", "scarabaeidae"]
IMAGE_SIZE = 64
BATCH_SIZE = 16
EPOCHS = 3


class BeetlePhotos(Dataset):
    """Stand-in for the museum drawer scans."""

    COLOURS = [(40, 30, 20), (130, 90, 60), (200, 40, 30), (80, 50, 110), (60, 140, 70)]

    def __init__(self, n, seed, transform):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(FAMILIES), n)
        self.seeds = rng.integers(0, 2**31, n)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        rng = np.random.default_rng(self.seeds[i])
        canvas = np.full((96, 96, 3), 225) + rng.integers(-15, 15, (96, 96, 3))
        canvas[20:76, 30:66] = np.array(self.COLOURS[self.labels[i]]) + rng.integers(-15, 15, (56, 36, 3))
        image = Image.fromarray(canvas.clip(0, 255).astype(np.uint8))
        return {"pixel_values": self.transform(image), "labels": int(self.labels[i])}


transform = transforms.Compose([
    transforms.Resize((IMAGE_SIZE, IMAGE_SIZE)),
    transforms.ToTensor(),
    transforms.Normalize([0.5] * 3, [0.5] * 3),
])


def evaluate(model, loader, device):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for batch in loader:
            logits = model(pixel_values=batch["pixel_values"].to(device)).logits.cpu()
            correct += (logits.argmax(-1) == batch["labels"]).sum().item()
            total += len(batch["labels"])
    return correct / total


def main():
    torch.manual_seed(17)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(BeetlePhotos(240, 1, transform), batch_size=BATCH_SIZE, shuffle=True)
    val_loader = DataLoader(BeetlePhotos(60, 2, transform), batch_size=BATCH_SIZE)

    config = ViTConfig(
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=192,
        patch_size=8,
    )
    model = ViTForImageClassification(config).to(device)

    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    steps = EPOCHS * len(train_loader)
    scheduler = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)

    for epoch in range(EPOCHS):
        model.train()
        for batch in train_loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} val acc {evaluate(model, val_loader, device):.3f}")


if __name__ == "__main__":
    main()
