import random

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

TEAMS = ["billing", "network", "hardware"]
TERMS = {
    "billing": "invoice refund charge payment card receipt".split(),
    "network": "wifi router vpn slow timeout dns".split(),
    "hardware": "screen keyboard battery charger fan broken".split(),
}
FILLER = "please help the my is again since today with".split()


def make_tickets(n, seed):
    rnd = random.Random(seed)
    tickets = []
    for _ in range(n):
        team = rnd.randrange(len(TEAMS))
        words = rnd.choices(FILLER, k=rnd.randint(3, 7)) + rnd.choices(TERMS[TEAMS[team]], k=3)
        rnd.shuffle(words)
        tickets.append((" ".join(words), team))
    return tickets


class WordTokenizer:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]

    def __init__(self, texts):
        self.words = sorted({w for t in texts for w in t.split()})
        self.token_to_id = {tok: i for i, tok in enumerate(self.special + self.words)}

    @property
    def vocab_size(self):
        return len(self.token_to_id)

    def __call__(self, text, max_length):
        ids = [self.token_to_id.get(w, 1) for w in text.split()][:max_length - 2]
        ids = [2] + ids + [3]
        mask = [1] * len(ids) + [0] * (max_length - len(ids))
        return ids + [0] * (max_length - len(ids)), mask


class TicketDataset(Dataset):
    def __init__(self, tickets, tokenizer, max_length=14):
        self.tickets = tickets
        self.tokenizer = tokenizer
        self.max_length = max_length

    def __len__(self):
        return len(self.tickets)

    def __getitem__(self, i):
        text, team = self.tickets[i]
        ids, mask = self.tokenizer(text, self.max_length)
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(mask),
            "labels": torch.tensor(team),
        }


def build_model(tokenizer, max_length=14):
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=max_length,
        num_labels=len(TEAMS),
        pad_token_id=0,
    )
    return BertForSequenceClassification(config)


def main():
    torch.manual_seed(0)
    train_tickets, test_tickets = make_tickets(240, 0), make_tickets(60, 1)
    tokenizer = WordTokenizer(text for text, _ in train_tickets)
    train_loader = DataLoader(TicketDataset(train_tickets, tokenizer), batch_size=24, shuffle=True)
    test_loader = DataLoader(TicketDataset(test_tickets, tokenizer), batch_size=30)
    model = build_model(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(6):
        model.train()
        for batch in train_loader:
            outputs = model(**batch)
            outputs.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        right = 0
        with torch.no_grad():
            for batch in test_loader:
                right += (model(**batch).logits.argmax(-1) == batch["labels"]).sum().item()
        print(f"epoch {epoch}: {right}/{len(test_tickets)} tickets routed correctly")


if __name__ == "__main__":
    main()
