import torch
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

torch.manual_seed(0)


def make_examples(n, vocab=120, max_len=16):
    examples = []
    for _ in range(n):
        length = int(torch.randint(6, max_len + 1, (1,)))
        ids = torch.zeros(max_len, dtype=torch.long)
        ids[:length] = torch.randint(5, vocab, (length,))
        examples.append({
            "input_ids": ids,
            "attention_mask": (ids != 0).long(),
            "label": int(ids[:length].float().mean() > 60),
        })
    return examples


config = BertConfig(vocab_size=120, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=64, max_position_embeddings=32, num_labels=2)
model = BertForSequenceClassification(config)
loader = DataLoader(make_examples(96), batch_size=16, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
scheduler = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=len(loader))

model.train()
for step, batch in enumerate(loader):
    outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=batch["label"])
    optimizer.zero_grad()
    outputs.loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(step, round(outputs.loss.item(), 4))
