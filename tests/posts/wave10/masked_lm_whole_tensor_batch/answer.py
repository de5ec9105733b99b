import torch
import torch.nn as nn

torch.manual_seed(0)
VOCAB, PAD, MASK = 1000, 0, 4


def torch_collate_batch(examples, pad_token_id=PAD, pad_to_multiple_of=None):
    if isinstance(examples[0], (list, tuple)):
        examples = [torch.tensor(e, dtype=torch.long) for e in examples]

    length_of_first = examples[0].size(0)
    are_tensors_same_length = all(x.size(0) == length_of_first for x in examples)
    if are_tensors_same_length and (pad_to_multiple_of is None or length_of_first % pad_to_multiple_of == 0):
        if not isinstance(examples, torch.Tensor):
            return torch.stack(examples, dim=0)
        return examples

    max_length = max(x.size(0) for x in examples)
    if pad_to_multiple_of is not None and max_length % pad_to_multiple_of != 0:
        max_length = ((max_length // pad_to_multiple_of) + 1) * pad_to_multiple_of
    result = examples[0].new_full([len(examples), max_length], pad_token_id)
    for i, example in enumerate(examples):
        result[i, :example.shape[0]] = example
    return result


class DataCollatorForLM:
    def __init__(self, mlm_probability=0.15):
        self.mlm_probability = mlm_probability

    def __call__(self, examples):
        input_ids = torch_collate_batch(examples)
        labels = input_ids.clone()
        probability_matrix = torch.full(labels.shape, self.mlm_probability)
        probability_matrix.masked_fill_(labels.eq(PAD), 0.0)
        masked = torch.bernoulli(probability_matrix).bool()
        labels[~masked] = -100
        inputs = input_ids.clone()
        inputs[masked] = MASK
        return {'input_ids': inputs, 'labels': labels}


class SmallLM(nn.Module):
    def __init__(self, dim=32, heads=2, layers=1, max_len=2048):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids, labels):
        x = self.embed(input_ids) + self.pos(torch.arange(input_ids.size(1)))
        logits = self.lm_head(self.encoder(x))
        return nn.functional.cross_entropy(logits.view(-1, VOCAB), labels.view(-1), ignore_index=-100)


corpus = torch.randint(5, VOCAB, (12, 2048))
ragged = [torch.randint(5, VOCAB, (int(n),)).tolist() for n in torch.randint(50, 200, (8,))]
collator = DataCollatorForLM()
model = SmallLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)

for i in range(0, len(ragged), 4):
    batch = collator(ragged[i:i + 4])
    loss = model(**batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('short', loss.item())

for i in range(0, len(corpus), 4):
    batch = collator(corpus[i:i + 4])
    loss = model(**batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('long', loss.item())
