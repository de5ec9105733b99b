# Fine-tuning a small ViT on plant disease leaves
import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader, random_split
from transformers import ViTConfig, ViTForImageClassification, get_linear_schedule_with_warmup

DISEASES = ["healthy", "rust", "scab", "powdery_mildew", "black_rot", "leaf_spot"]
label2id = {name: i for i, name in enumerate(DISEASES)}
id2label = {i: name for name, i in label2id.items()}

cfg = dict(
    image_size=64,
    patch_size=16,
    batch_size=16,
    lr=5e-4,
    epochs=2,
    seed=7,
)

torch.manual_seed(cfg["seed"])
np.random.seed(cfg["seed"])


class LeafDataset(Dataset):
    def __init__(self, n):
        self.names = np.random.choice(DISEASES, size=n)
        self.images = np.random.randint(0, 256, (n, cfg["image_size"], cfg["image_size"], 3), dtype=np.uint8)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        pixel_values = torch.from_numpy(self.images[i]).permute(2, 0, 1).float() / 255
        pixel_values = (pixel_values - 0.5) / 0.5
        return {"pixel_values": pixel_values, "labels": label2id[self.names[i]]}


def build_model():
    config = ViTConfig(
        image_size=cfg["image_size"],
        patch_size=cfg["patch_size"],
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=192,
        num_labels=len(DISEASES),
    )
    return ViTForImageClassification(config)


def run_epoch(model, loader, optimizer=None, scheduler=None):
    training = optimizer is not None
    model.train(training)
    loss_sum, correct, seen = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for batch in loader:
            out = model(**batch)
            if training:
                optimizer.zero_grad()
                out.loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
            n = batch["labels"].size(0)
            loss_sum += out.loss.item() * n
            correct += (out.logits.argmax(-1) == batch["labels"]).sum().item()
            seen += n
    return loss_sum / seen, correct / seen


full = LeafDataset(160)
train_set, val_set = random_split(full, [128, 32])
train_loader = DataLoader(train_set, batch_size=cfg["batch_size"], shuffle=True)
val_loader = DataLoader(val_set, batch_size=cfg["batch_size"])

model = build_model()
print("trainable:", sum(p.numel() for p in model.parameters() if p.requires_grad))
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.01)
total = len(train_loader) * cfg["epochs"]
scheduler = get_linear_schedule_with_warmup(optimizer, total // 10, total)

for epoch in range(cfg["epochs"]):
    tr_loss, tr_acc = run_epoch(model, train_loader, optimizer, scheduler)
    va_loss, va_acc = run_epoch(model, val_loader)
    print(f"[{epoch}] train {tr_loss:.3f}/{tr_acc:.3f}  val {va_loss:.3f}/{va_acc:.3f}")

model.eval()
with torch.no_grad():
    x = full[0]["pixel_values"].unsqueeze(0)
    print("leaf 0:", id2label[model(pixel_values=x).logits.argmax(-1).item()])
