import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from transformers import BertConfig, BertModel

PAD, CLS, SEP = 0, 1, 2
VOCAB = 120
LABELS = ["contradiction", "entail", "neutral"]
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class BertNLIModel(nn.Module):
    def __init__(self, num_labels=len(LABELS)):
        super().__init__()
        config = BertConfig(
            vocab_size=VOCAB,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=64,
            pad_token_id=PAD,
        )
        self.bert = BertModel(config)
        self.nli_head = nn.Linear(config.hidden_size, num_labels)

    def forward(self, ids, types, masks):
        out = self.bert(input_ids=ids, token_type_ids=types, attention_mask=masks)
        return self.nli_head(out.pooler_output)


def make_pairs(n, rng):
    pairs = []
    for _ in range(n):
        label = rng.randrange(len(LABELS))
        premise = [rng.randrange(10, 90) for _ in range(rng.randint(4, 24))]
        hypothesis = [rng.randrange(10, 90) for _ in range(rng.randint(2, 8))]
        hypothesis.insert(0, 100 + label)
        pairs.append((premise, hypothesis, label))
    return pairs


def encode(premise, hypothesis):
    first = [CLS] + premise + [SEP]
    second = hypothesis + [SEP]
    return first + second, [0] * len(first) + [1] * len(second)


def build_batch(pairs):
    """Pad the token ids, segment ids and attention masks of a batch to one length."""
    encoded = [encode(p, h) for p, h, _ in pairs]
    max_len = max(len(ids) for ids, _ in encoded)
    ids_batch, types_batch, masks_batch = [], [], []
    for ids, types in encoded:
        padding = max_len - len(ids)
        ids_batch.append(ids + [PAD] * padding)
        types_batch.append(types + [0] * padding)
        masks_batch.append([1] * max_len)
    labels = torch.tensor([label for _, _, label in pairs])
    return torch.tensor(ids_batch), torch.tensor(types_batch), torch.tensor(masks_batch), labels


def train(model, loader, epochs=6):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        total = 0.0
        for ids, types, masks, labels in loader:
            logits = model(ids.to(device), types.to(device), masks.to(device))
            loss = criterion(logits, labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = count = 0
    for ids, types, masks, labels in loader:
        pred = model(ids.to(device), types.to(device), masks.to(device)).argmax(1).cpu()
        correct += (pred == labels).sum().item()
        count += len(labels)
    return correct / count


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = random.Random(0)
    train_loader = DataLoader(make_pairs(256, rng), batch_size=16, shuffle=True, collate_fn=build_batch)
    dev_loader = DataLoader(make_pairs(64, rng), batch_size=32, collate_fn=build_batch)
    model = BertNLIModel().to(device)
    train(model, train_loader)
    print(f"dev accuracy: {evaluate(model, dev_loader):.3f}")
