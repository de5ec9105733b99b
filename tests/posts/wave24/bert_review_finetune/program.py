import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertModel

MAX_LEN = 24
VOCAB_SIZE = 200
CLASSES = ["negative", "positive"]

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


class ReviewDataset(Dataset):
    """Token ids of short reviews, padded with 0 to MAX_LEN."""

    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            label = rng.randint(0, 1)
            words = [rng.randint(20, VOCAB_SIZE - 1) for _ in range(rng.randint(8, MAX_LEN - 6))]
            for _ in range(3):
                words.insert(rng.randint(0, len(words)), rng.randint(4, 8) if label else rng.randint(10, 14))
            ids = [1] + words + [2]
            self.items.append((ids + [0] * (MAX_LEN - len(ids)), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        ids, label = self.items[index]
        return torch.tensor(ids), label


class BertForReviews(nn.Module):
    def __init__(self, num_labels=2):
        super().__init__()
        config = BertConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=MAX_LEN,
        )
        self.bert = BertModel(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels)
        nn.init.xavier_normal_(self.classifier.weight)

    def forward(self, input_ids):
        out = self.bert(input_ids, attention_mask=(input_ids != 0).long())
        return self.classifier(self.dropout(out.pooler_output))


def train_model(model, dataloaders, criterion, optimizer, num_epochs):
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects, seen = 0.0, 0, 0
            for inputs, labels in dataloaders[phase]:
                inputs, labels = inputs.to(device), labels.to(device)
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    outputs = F.softmax(outputs, dim=1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += (outputs.argmax(dim=1) == labels).sum().item()
                seen += inputs.size(0)
            print(f"epoch {epoch} {phase} loss {running_loss / seen:.4f} acc {running_corrects / seen:.4f}")
    return model


def main():
    torch.manual_seed(0)
    dataloaders = {
        "train": DataLoader(ReviewDataset(800, seed=1), batch_size=32, shuffle=True),
        "val": DataLoader(ReviewDataset(200, seed=2), batch_size=32),
    }
    model = BertForReviews(len(CLASSES)).to(device)
    optimizer = torch.optim.Adam(
        [
            {"params": model.bert.parameters(), "lr": 5e-4},
            {"params": model.classifier.parameters(), "lr": 1e-3},
        ]
    )
    criterion = nn.CrossEntropyLoss()
    train_model(model, dataloaders, criterion, optimizer, num_epochs=5)


if __name__ == "__main__":
    main()
