import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

WORDS = ["<pad>", "keep", "lane", "turn", "left", "right", "stop", "yield", "to", "the", "car", "ahead", "slow", "go"]


def to_device(batch, device=None, dtype=None):
    """Moves a nested batch to a device, and to a dtype where one is given."""
    if isinstance(batch, torch.Tensor):
        if dtype is not None and batch.is_floating_point():
            return batch.to(device=device, dtype=dtype)
        return batch.to(device=device)
    if isinstance(batch, dict):
        return {k: to_device(v, device, dtype) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(to_device(v, device, dtype) for v in batch)
    return batch


class DrivingClips(Dataset):
    """Four camera frames, the ego history, a short instruction and the future path."""

    def __init__(self, n_clips, max_tokens=8, horizon=6):
        gen = torch.Generator().manual_seed(7)
        self.clips = []
        for i in range(n_clips):
            length = int(torch.randint(2, max_tokens, (1,), generator=gen))
            input_ids = torch.zeros(max_tokens, dtype=torch.long)
            input_ids[:length] = torch.randint(1, len(WORDS), (length,), generator=gen)
            speed = torch.rand(1, generator=gen) * 5
            steps = torch.arange(1, horizon + 1).float()
            self.clips.append({
                "clip_id": f"clip_{i:05d}",
                "frames": torch.rand(4, 3, 32, 32, generator=gen),
                "ego_history": torch.stack([-steps.flip(0) * speed, torch.zeros(horizon)], dim=-1),
                "text": {"input_ids": input_ids, "attention_mask": (input_ids != 0).long()},
                "future": torch.stack([steps * speed, 0.1 * input_ids.float().mean() * steps], dim=-1),
            })

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        return self.clips[i]


class PathModel(nn.Module):
    def __init__(self, vocab, dim=48, horizon=6):
        super().__init__()
        self.horizon = horizon
        self.vision = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.GELU(),
            nn.Conv2d(16, dim, 3, stride=2, padding=1), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.embed_tokens = nn.Embedding(vocab, dim, padding_idx=0)
        self.ego = nn.Linear(horizon * 2, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.backbone = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, horizon * 2)

    def forward(self, frames, ego_history, input_ids, attention_mask):
        b, t = frames.shape[:2]
        images = self.vision(frames.flatten(0, 1)).view(b, t, -1)
        words = self.embed_tokens(input_ids)
        ego = self.ego(ego_history.flatten(1)).unsqueeze(1)
        tokens = torch.cat([ego, images, words], dim=1)
        seen = torch.ones(b, t + 1, dtype=torch.bool, device=tokens.device)
        padding = torch.cat([seen, attention_mask.bool()], dim=1).logical_not()
        hidden = self.backbone(tokens, src_key_padding_mask=padding)
        return self.head(hidden[:, 0]).view(b, self.horizon, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="bfloat16", choices=["float32", "bfloat16"])
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = getattr(torch, args.dtype)

    torch.manual_seed(0)
    loader = DataLoader(DrivingClips(64), batch_size=8, shuffle=True)
    model = PathModel(len(WORDS)).to(device=device, dtype=dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        total = 0.0
        for batch in loader:
            batch = to_device(batch, device, dtype)
            path = model(batch["frames"], batch["ego_history"], **batch["text"])
            loss = nn.functional.smooth_l1_loss(path.float(), batch["future"].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
