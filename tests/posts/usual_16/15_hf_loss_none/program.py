import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

random.seed(5)
torch.manual_seed(5)

QUEUES = ["billing", "shipping", "returns", "technical"]
WORDS = {
    "billing": "invoice charged card refund vat payment twice".split(),
    "shipping": "parcel courier tracking late delivery address depot".split(),
    "returns": "return label exchange size broken box damaged".split(),
    "technical": "login error app crash password update screen".split(),
}
FILLER = "hello please help my the order is not i have a since yesterday thanks".split()
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
VOCAB = {w: i for i, w in enumerate(SPECIAL + FILLER + [w for ws in WORDS.values() for w in ws])}
ACCUM = 2
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def encode(text):
    ids = [VOCAB.get(w, VOCAB["[UNK]"]) for w in text.split()]
    return [VOCAB["[CLS]"]] + ids + [VOCAB["[SEP]"]]


class Tickets(Dataset):
    def __init__(self, n):
        self.rows = []
        for _ in range(n):
            q = random.randrange(len(QUEUES))
            words = random.choices(FILLER, k=random.randint(4, 12)) + random.choices(WORDS[QUEUES[q]], k=3)
            random.shuffle(words)
            self.rows.append((" ".join(words), q))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        text, q = self.rows[i]
        return {"input_ids": torch.tensor(encode(text)), "labels": q}


def collate(items):
    ids = pad_sequence([x["input_ids"] for x in items], batch_first=True, padding_value=VOCAB["[PAD]"])
    return {
        "input_ids": ids,
        "attention_mask": (ids != VOCAB["[PAD]"]).long(),
        "labels": torch.tensor([x["labels"] for x in items]),
    }


config = BertConfig(
    vocab_size=len(VOCAB), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=96, max_position_embeddings=32, num_labels=len(QUEUES),
    id2label=dict(enumerate(QUEUES)), label2id={q: i for i, q in enumerate(QUEUES)},
)
model = BertForSequenceClassification(config).to(DEVICE)
train_loader = DataLoader(Tickets(640), batch_size=16, shuffle=True, collate_fn=collate)
eval_loader = DataLoader(Tickets(160), batch_size=32, collate_fn=collate)

EPOCHS = 3
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
total_steps = EPOCHS * len(train_loader) // ACCUM
scheduler = get_linear_schedule_with_warmup(optimizer, int(0.1 * total_steps), total_steps)

for epoch in range(EPOCHS):
    model.train()
    seen = hits = 0
    for step, batch in enumerate(train_loader):
        batch = {k: v.to(DEVICE) for k, v in batch.items()}
        labels = batch.pop("labels")
        outputs = model(**batch)
        loss = outputs.loss / ACCUM
        loss.backward()
        hits += (outputs.logits.argmax(-1) == labels).sum().item()
        seen += labels.numel()
        if (step + 1) % ACCUM == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()

    model.eval()
    good = n = 0
    with torch.no_grad():
        for batch in eval_loader:
            batch = {k: v.to(DEVICE) for k, v in batch.items()}
            logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
            good += (logits.argmax(-1) == batch["labels"]).sum().item()
            n += len(logits)
    print(f"epoch {epoch}: train acc {hits / seen:.3f}, eval acc {good / n:.3f}")
