import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SAMPLE_RATE = 1600
FRAME = 80
NUM_SPECIES = 4


class CallDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            y = int(torch.randint(0, NUM_SPECIES, (1,), generator=g))
            length = int(torch.randint(800, 3200, (1,), generator=g))
            t = torch.arange(length) / SAMPLE_RATE
            wav = torch.sin(2 * torch.pi * (60 + 70 * y) * t) + 0.3 * torch.randn(length, generator=g)
            self.items.append((wav, y))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Collater:
    """Pads or truncates every clip to the same number of seconds."""

    def __init__(self, seconds):
        self.target_len = int(seconds * SAMPLE_RATE)

    def __call__(self, batch):
        waves = torch.zeros(len(batch), self.target_len)
        masks = torch.zeros(len(batch), self.target_len, dtype=torch.bool)
        labels = torch.zeros(len(batch), dtype=torch.long)
        for i, (wav, y) in enumerate(batch):
            n = min(len(wav), self.target_len)
            waves[i, :n] = wav[:n]
            masks[i, :n] = True
            labels[i] = y
        return {"raw_wav": waves, "padding_mask": masks, "label": labels}


class WaveBackbone(nn.Module):
    """Small BEATs-like encoder: frames, projection, transformer."""

    def __init__(self, dim=48, heads=4, layers=2):
        super().__init__()
        self.proj = nn.Linear(FRAME // 2 + 1, dim)
        self.pos = nn.Parameter(torch.randn(1, 64, dim) * 0.02)
        block = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)

    def forward_padding_mask(self, features, padding_mask):
        extra = padding_mask.size(1) % features.size(1)
        if extra > 0:
            padding_mask = padding_mask[:, :-extra]
        return padding_mask.view(padding_mask.size(0), features.size(1), -1).all(-1)

    def extract_features(self, wav, padding_mask=None):
        frames = wav.unfold(1, FRAME, FRAME)
        x = torch.fft.rfft(frames, dim=-1).abs() / FRAME
        x = self.proj(x)
        x = x + self.pos[:, :x.size(1)]
        if padding_mask is not None:
            padding_mask = self.forward_padding_mask(x, padding_mask)
            x = x.masked_fill(padding_mask.unsqueeze(-1), 0.0)
        x = self.encoder(x, src_key_padding_mask=padding_mask)
        return x, padding_mask


class SpeciesClassifier(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = WaveBackbone()
        self.classifier = nn.Linear(48, num_classes)

    def forward(self, wav, padding_mask):
        features, frame_mask = self.backbone.extract_features(wav, padding_mask=padding_mask)
        features = features.masked_fill(frame_mask.unsqueeze(-1), 0.0)
        counts = (~frame_mask).sum(dim=1, keepdim=True).clamp(min=1)
        return self.classifier(features.sum(dim=1) / counts)


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, correct, seen = 0.0, 0, 0
    for batch in loader:
        logits = model(batch["raw_wav"], batch["padding_mask"])
        loss = nn.functional.cross_entropy(logits, batch["label"])
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(logits)
        correct += (logits.argmax(1) == batch["label"]).sum().item()
        seen += len(logits)
    return total / seen, correct / seen


def main():
    torch.manual_seed(11)
    collate = Collater(seconds=2.5)
    train = DataLoader(CallDataset(160, 0), batch_size=16, shuffle=True, collate_fn=collate)
    valid = DataLoader(CallDataset(64, 1), batch_size=16, collate_fn=collate)
    model = SpeciesClassifier(NUM_SPECIES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(6):
        train_loss, train_acc = run_epoch(model, train, optimizer)
        with torch.no_grad():
            valid_loss, valid_acc = run_epoch(model, valid)
        print(f"epoch {epoch} train {train_loss:.3f}/{train_acc:.2f} valid {valid_loss:.3f}/{valid_acc:.2f}")


if __name__ == "__main__":
    main()
