import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertModel, BertTokenizer

torch.manual_seed(0)
ADDITIONAL_SPECIAL_TOKENS = ["[E11]", "[E12]", "[E21]", "[E22]"]
WORDS = "the a company city was founded in by person lives works for near river mountain river product makes of and".split()


def load_tokenizer():
    path = os.path.join(tempfile.mkdtemp(), "vocab.txt")
    with open(path, "w") as f:
        f.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + sorted(set(WORDS))))
    return BertTokenizer(path)


class RBERT(nn.Module):
    def __init__(self, config, num_labels):
        super().__init__()
        self.bert = BertModel(config)
        self.cls_fc = nn.Linear(config.hidden_size, config.hidden_size)
        self.entity_fc = nn.Linear(config.hidden_size, config.hidden_size)
        self.label_classifier = nn.Linear(config.hidden_size * 3, num_labels)

    @staticmethod
    def entity_average(hidden_output, e_mask):
        length = e_mask.sum(dim=1, keepdim=True).float()
        return torch.bmm(e_mask.unsqueeze(1).float(), hidden_output).squeeze(1) / length

    def forward(self, input_ids, attention_mask, e1_mask, e2_mask):
        outputs = self.bert(input_ids, attention_mask=attention_mask)
        sequence_output, pooled_output = outputs[0], outputs[1]
        e1 = torch.tanh(self.entity_fc(self.entity_average(sequence_output, e1_mask)))
        e2 = torch.tanh(self.entity_fc(self.entity_average(sequence_output, e2_mask)))
        return self.label_classifier(torch.cat([torch.tanh(self.cls_fc(pooled_output)), e1, e2], dim=-1))


def convert(sentence, tokenizer, max_len=24):
    tokens = ["[CLS]"] + tokenizer.tokenize(sentence) + ["[SEP]"]
    e11, e12 = tokens.index("[E11]"), tokens.index("[E12]")
    e21, e22 = tokens.index("[E21]"), tokens.index("[E22]")
    ids = tokenizer.convert_tokens_to_ids(tokens)
    pad = max_len - len(ids)
    e1 = [int(e11 < i < e12) for i in range(max_len)]
    e2 = [int(e21 < i < e22) for i in range(max_len)]
    return ids + [0] * pad, [1] * len(ids) + [0] * pad, e1, e2


def sentences(n):
    for _ in range(n):
        w = [WORDS[i] for i in torch.randint(0, len(WORDS), (10,)).tolist()]
        yield " ".join(w[:2] + ["[E11]", w[2], "[E12]"] + w[3:7] + ["[E21]", w[7], "[E22]"] + w[8:])


tokenizer = load_tokenizer()
config = BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
tokenizer.add_special_tokens({"additional_special_tokens": ADDITIONAL_SPECIAL_TOKENS})
model = RBERT(config, num_labels=4)
model.bert.resize_token_embeddings(len(tokenizer))

rows = [convert(s, tokenizer) for s in sentences(64)]
columns = [torch.tensor(c) for c in zip(*rows)]
loader = DataLoader(TensorDataset(*columns, torch.randint(0, 4, (64,))), batch_size=16, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
criterion = nn.CrossEntropyLoss()
for epoch in range(2):
    for input_ids, attention_mask, e1_mask, e2_mask, labels in loader:
        loss = criterion(model(input_ids, attention_mask, e1_mask, e2_mask), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
