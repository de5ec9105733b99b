import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import ViTConfig, ViTForImageClassification, get_linear_schedule_with_warmup

GRADES = ["healthy", "mild", "moderate", "severe"]


class RetinaDataset(Dataset):
    """Fake fundus crops: the worse the grade, the more bright lesions."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.grades = torch.randint(0, len(GRADES), (n,), generator=g)
        self.pixels = torch.rand(n, 3, 32, 32, generator=g) * 0.3
        for k, grade in enumerate(self.grades.tolist()):
            for _ in range(grade * 3):
                r, c = torch.randint(0, 28, (2,), generator=g).tolist()
                self.pixels[k, :, r:r + 4, c:c + 4] = 1.0

    def __len__(self):
        return len(self.grades)

    def __getitem__(self, i):
        return {"pixel_values": self.pixels[i], "grade": self.grades[i]}


def build_vit():
    config = ViTConfig(
        image_size=32,
        patch_size=4,
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=96,
        num_labels=len(GRADES),
        id2label=dict(enumerate(GRADES)),
        label2id={g: i for i, g in enumerate(GRADES)},
    )
    return ViTForImageClassification(config)


class GradingTrainer:
    def __init__(self, model, train_set, val_set, epochs=4, lr=1e-3, class_weights=None):
        self.model = model
        self.epochs = epochs
        self.train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=32)
        self.criterion = nn.CrossEntropyLoss(weight=class_weights)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
        steps = epochs * len(self.train_loader)
        self.scheduler = get_linear_schedule_with_warmup(self.optimizer, steps // 10, steps)

    def train(self):
        for epoch in range(self.epochs):
            self.model.train()
            running = 0.0
            for batch in self.train_loader:
                outputs = self.model(pixel_values=batch["pixel_values"])
                loss = self.criterion(outputs.logits, batch["grade"])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                running += loss.item()
            print(f"epoch {epoch + 1}: train loss {running / len(self.train_loader):.3f}, "
                  f"val acc {self.validate():.3f}")

    def validate(self):
        self.model.eval()
        right = 0
        with torch.no_grad():
            for batch in self.val_loader:
                logits = self.model(pixel_values=batch["pixel_values"]).logits
                right += (logits.argmax(-1) == batch["grade"]).sum().item()
        return right / len(self.val_loader.dataset)


def inverse_frequency(dataset):
    counts = torch.bincount(dataset.grades, minlength=len(GRADES)).float()
    return counts.sum() / (len(GRADES) * counts)


if __name__ == "__main__":
    torch.manual_seed(23)
    train_set, val_set = RetinaDataset(256, 0), RetinaDataset(48, 1)
    weights = inverse_frequency(train_set)
    GradingTrainer(build_vit(), train_set, val_set, class_weights=weights).train()
