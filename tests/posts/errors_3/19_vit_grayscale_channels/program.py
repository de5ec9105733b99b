import torch
from torch.utils.data import Dataset, DataLoader
from transformers import ViTConfig, ViTForImageClassification

torch.manual_seed(0)


class XrayPatches(Dataset):
    def __init__(self, n, size=32):
        self.labels = torch.arange(n) % 2
        self.images = torch.rand(n, 1, size, size) * 0.5
        for i, k in enumerate(self.labels):
            if k:
                self.images[i, :, 8:20, 8:20] += 0.4

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"pixel_values": self.images[i], "labels": self.labels[i]}


config = ViTConfig(
    image_size=32,
    patch_size=8,
    hidden_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=96,
    num_labels=2,
)
model = ViTForImageClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

model.train()
for batch in DataLoader(XrayPatches(128), batch_size=32, shuffle=True):
    out = model(**batch)
    optimizer.zero_grad()
    out.loss.backward()
    optimizer.step()
    print(f"loss {out.loss.item():.4f}")
