import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)

config = BertConfig(
    vocab_size=400,
    hidden_size=100,
    num_hidden_layers=2,
    intermediate_size=256,
    max_position_embeddings=64,
    num_labels=3,
)
model = BertForSequenceClassification(config)

ids = torch.randint(5, 400, (12, 20))
mask = torch.ones_like(ids)
mask[:, 15:] = 0
labels = torch.randint(0, 3, (12,))

optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
model.train()
for epoch in range(2):
    perm = torch.randperm(12)
    for chunk in perm.split(4):
        out = model(input_ids=ids[chunk], attention_mask=mask[chunk], labels=labels[chunk])
        optimizer.zero_grad()
        out.loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {out.loss.item():.4f}")
