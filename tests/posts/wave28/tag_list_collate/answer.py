import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, default_collate

TAGS = ["vegan", "spicy", "quick", "dessert", "baked", "grilled", "soup", "salad"]
N_NUTRIENTS = 12


def load_recipes(n=240, seed=11):
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(5).normal(size=(len(TAGS), N_NUTRIENTS))
    rows = []
    for i in range(n):
        k = int(rng.integers(1, 5))
        tags = sorted(rng.choice(len(TAGS), size=k, replace=False).tolist())
        nutrients = mixing[tags].sum(axis=0) + 0.3 * rng.normal(size=N_NUTRIENTS)
        rows.append({
            "recipe_id": i,
            "nutrients": nutrients.astype(np.float32),
            "minutes": float(rng.integers(5, 120)),
            "tags": " ".join(TAGS[t] for t in tags),
        })
    return pd.DataFrame(rows)


class RecipeDataset(Dataset):
    """One recipe: its numbers, and the list of its tags."""

    def __init__(self, frame):
        self.frame = frame.reset_index(drop=True)

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, index):
        row = self.frame.iloc[index]
        return {
            "recipe_id": int(row["recipe_id"]),
            "nutrients": row["nutrients"],
            "minutes": np.float32(row["minutes"] / 120),
            "tags": row["tags"].split(),
        }


class TagClassifier(nn.Module):
    def __init__(self, n_features, n_tags, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, n_tags),
        )

    def forward(self, nutrients, minutes):
        return self.net(torch.cat([nutrients, minutes.unsqueeze(1)], dim=1))


def multi_hot(tag_lists):
    target = torch.zeros(len(tag_lists), len(TAGS))
    for i, tags in enumerate(tag_lists):
        for tag in tags:
            target[i, TAGS.index(tag)] = 1.0
    return target


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for batch in loader:
            pred = model(batch["nutrients"], batch["minutes"]) > 0
            target = multi_hot(batch["tags"]).bool()
            correct += (pred == target).sum().item()
            total += target.numel()
    return correct / total


def collate_recipes(samples):
    tags = [sample.pop("tags") for sample in samples]
    batch = default_collate(samples)
    batch["tags"] = tags
    return batch


def main():
    torch.manual_seed(0)
    frame = load_recipes()
    train_set = RecipeDataset(frame.iloc[:200])
    valid_set = RecipeDataset(frame.iloc[200:])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True, collate_fn=collate_recipes)
    valid_loader = DataLoader(valid_set, batch_size=16, collate_fn=collate_recipes)

    model = TagClassifier(N_NUTRIENTS + 1, len(TAGS))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()

    for epoch in range(10):
        model.train()
        losses = []
        for batch in train_loader:
            target = multi_hot(batch["tags"])
            logits = model(batch["nutrients"], batch["minutes"])
            loss = criterion(logits, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch:2d}  loss {np.mean(losses):.4f}  valid acc {evaluate(model, valid_loader):.3f}")


if __name__ == "__main__":
    main()
