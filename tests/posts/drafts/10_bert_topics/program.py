import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

TOPICS = ["sports", "politics", "tech", "health"]
VOCAB_SIZE = 1000
MAX_LENGTH = 32


class NewsDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(TOPICS), (n,), generator=g)
        self.lengths = torch.randint(8, MAX_LENGTH + 1, (n,), generator=g)
        self.tokens = torch.randint(5, VOCAB_SIZE, (n, MAX_LENGTH), generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        length = int(self.lengths[idx])
        input_ids = torch.zeros(MAX_LENGTH, dtype=torch.long)
        input_ids[:length] = self.tokens[idx, :length]
        attention_mask = torch.zeros(MAX_LENGTH, dtype=torch.long)
        attention_mask[:length] = 1
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": self.labels[idx]}


config = BertConfig(
    vocab_size=VOCAB_SIZE,
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    max_position_embeddings=64,
)


class Trainer:
    def __init__(self, model, train_set, val_set, lr=1e-3, batch_size=16):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=batch_size)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.criterion = torch.nn.CrossEntropyLoss()

    def step(self, batch):
        outputs = self.model(input_ids=batch["input_ids"])
        return outputs

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for batch in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.step(batch), batch["labels"])
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        correct = 0
        for batch in self.val_loader:
            correct += (self.step(batch).argmax(dim=-1) == batch["labels"]).sum().item()
        return correct / len(self.val_loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    bert = BertForSequenceClassification(config)
    trainer = Trainer(bert, NewsDataset(128, seed=1), NewsDataset(32, seed=2))
    for epoch in range(2):
        loss = trainer.train_epoch()
        print(f"epoch {epoch}: loss={loss:.4f} val_acc={trainer.evaluate():.3f}")
