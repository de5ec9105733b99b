import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

MAX_LEN = 24
VOCAB = 400


class IntentDataset(Dataset):
    def __init__(self, n, num_intents, seed):
        g = torch.Generator().manual_seed(seed)
        self.examples = []
        for _ in range(n):
            intent = torch.randint(0, num_intents, (1,), generator=g).item()
            length = torch.randint(6, MAX_LEN, (1,), generator=g).item()
            ids = torch.randint(50, VOCAB, (length,), generator=g)
            ids[0] = 2
            ids[1:4] = 10 + intent
            input_ids = torch.zeros(MAX_LEN, dtype=torch.long)
            input_ids[:length] = ids
            self.examples.append({
                "input_ids": input_ids,
                "attention_mask": (input_ids != 0).long(),
                "label": torch.tensor(intent),
            })

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        return self.examples[i]


def main():
    torch.manual_seed(0)
    num_intents, epochs = 4, 2
    config = BertConfig(
        vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=64, num_labels=num_intents,
    )
    model = BertForSequenceClassification(config)
    train_loader = DataLoader(IntentDataset(320, num_intents, 0), batch_size=16, shuffle=True)
    val_loader = DataLoader(IntentDataset(80, num_intents, 1), batch_size=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 4, epochs * len(train_loader))

    for epoch in range(epochs):
        model.train()
        for batch in train_loader:
            labels = batch.pop("label")
            outputs = model(**batch)
            loss = outputs.loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

        model.eval()
        hits = 0
        with torch.no_grad():
            for batch in val_loader:
                labels = batch.pop("label")
                hits += (model(**batch).logits.argmax(-1) == labels).sum().item()
        print(f"epoch {epoch}: val accuracy {hits / len(val_loader.dataset):.3f}")


if __name__ == "__main__":
    main()
