import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(11)

INTENTS = [
    "alarm_set", "alarm_query", "alarm_remove", "audio_volume", "calendar_set", "calendar_query",
    "cooking_recipe", "datetime_query", "email_query", "email_send", "general_joke", "iot_light",
    "lists_add", "lists_remove", "music_play", "news_query", "transport_taxi", "weather_query",
]
VOCAB_SIZE = 300
MAX_LEN = 16


class IntentDataset(Dataset):
    def __init__(self, n):
        self.labels = torch.arange(n) % len(INTENTS)
        lengths = torch.randint(6, MAX_LEN + 1, (n,))
        self.ids = torch.randint(50, VOCAB_SIZE, (n, MAX_LEN))
        self.ids[:, 0] = 1
        self.ids[:, 1] = 10 + self.labels
        self.ids[:, 2] = 10 + self.labels
        self.mask = (torch.arange(MAX_LEN) < lengths.unsqueeze(1)).long()
        self.ids = self.ids * self.mask

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        return self.ids[idx], self.mask[idx], self.labels[idx]


def build_model(num_labels=12):
    config = BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=MAX_LEN,
        num_labels=num_labels,
    )
    return BertForSequenceClassification(config).to(device)


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for ids, mask, labels in loader:
            logits = model(ids.to(device), attention_mask=mask.to(device)).logits
            correct += (logits.argmax(-1).cpu() == labels).sum().item()
    return correct / len(loader.dataset)


def finetune(epochs=3):
    train_loader = DataLoader(IntentDataset(540), batch_size=36, shuffle=True)
    dev_loader = DataLoader(IntentDataset(90), batch_size=36)
    model = build_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for ids, mask, labels in train_loader:
            b_ids, b_mask, b_labels = ids.to(device), mask.to(device), labels.to(device)
            outputs = model(b_ids, attention_mask=b_mask, labels=b_labels)
            optimizer.zero_grad()
            outputs.loss.backward()
            optimizer.step()
            total += outputs.loss.item()
        print(f"epoch {epoch}: loss {total / len(train_loader):.3f}, dev accuracy {accuracy(model, dev_loader):.3f}")


if __name__ == "__main__":
    finetune()
