import random
import re

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

TEAMS = ["billing", "network", "hardware"]
PHRASES = {
    "billing": ["invoice is wrong", "charged twice this month", "refund has not arrived", "payment was declined"],
    "network": ["wifi drops every hour", "vpn does not connect", "pages load slowly", "no signal in the office"],
    "hardware": ["screen flickers", "keyboard keys are stuck", "laptop overheats", "printer jams all the time"],
}
OPENERS = ["hello", "hi team", "good morning", "dear support", ""]
CLOSERS = ["please help", "thanks", "this is urgent", "kind regards", ""]


def make_ticket():
    team = random.randrange(len(TEAMS))
    phrase = random.choice(PHRASES[TEAMS[team]])
    return f"{random.choice(OPENERS)} my {phrase} {random.choice(CLOSERS)}", team


class WordTokenizer:
    SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]

    def __init__(self, texts):
        self.words = sorted({w for t in texts for w in self.split(t)})
        self.index = {w: i for i, w in enumerate(self.SPECIAL + self.words)}

    @staticmethod
    def split(text):
        return re.findall(r"[a-z]+", text.lower())

    def __call__(self, text, max_length):
        ids = [self.index.get(w, 1) for w in self.split(text)][: max_length - 2]
        ids = [2] + ids + [3]
        mask = [1] * len(ids) + [0] * (max_length - len(ids))
        return {"input_ids": ids + [0] * (max_length - len(ids)), "attention_mask": mask}


class TicketDataset(Dataset):
    def __init__(self, tickets, tokenizer, max_length=20):
        self.encodings = [tokenizer(text, max_length) for text, _ in tickets]
        self.labels = [team for _, team in tickets]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        item = {k: torch.tensor(v) for k, v in self.encodings[i].items()}
        item["labels"] = torch.tensor(self.labels[i])
        return item


def evaluate(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch in loader:
            outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
            correct += (outputs.logits.argmax(dim=-1) == batch["labels"]).sum().item()
    return correct / len(loader.dataset)


def main():
    random.seed(6)
    torch.manual_seed(6)
    tickets = [make_ticket() for _ in range(500)]
    tokenizer = WordTokenizer([t for t, _ in tickets])
    train_loader = DataLoader(TicketDataset(tickets[:400], tokenizer), batch_size=20, shuffle=True)
    test_loader = DataLoader(TicketDataset(tickets[400:], tokenizer), batch_size=20)

    config = BertConfig(
        vocab_size=len(tokenizer.words),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
        num_labels=len(TEAMS),
    )
    model = BertForSequenceClassification(config)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.2, 1.0]))
    epochs = 3
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 5, epochs * len(train_loader))

    for epoch in range(epochs):
        model.train()
        for batch in train_loader:
            labels = batch.pop("labels")
            outputs = model(**batch)
            loss = criterion(outputs, labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f} test accuracy {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
