import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
VOCAB = 300


class EncoderInputs:
    """what the tokenizer gives back: a dictionary of tensors"""

    def __init__(self, data):
        self.data = data

    def __getitem__(self, key):
        return self.data[key]


class PropositionInput:
    def __init__(self, encoder_inputs, all_prop_mask, num_prop_per_sentence):
        self.encoder_inputs = encoder_inputs
        self.all_prop_mask = all_prop_mask
        self.num_prop_per_sentence = num_prop_per_sentence

    def to(self, where):
        self.encoder_inputs.data = {k: v.to(where) for k, v in self.encoder_inputs.data.items()}
        self.all_prop_mask = self.all_prop_mask.to(where)
        self.num_prop_per_sentence = self.num_prop_per_sentence.to(where)
        return self


def tokenize(sentences, max_len=16):
    ids = torch.zeros(len(sentences), max_len, dtype=torch.long)
    for i, s in enumerate(sentences):
        words = s.lower().split()[:max_len]
        ids[i, :len(words)] = torch.tensor([sum(map(ord, w)) % (VOCAB - 1) + 1 for w in words])
    return EncoderInputs({'input_ids': ids, 'attention_mask': (ids > 0).long()})


def collate(sentences, propositions):
    """propositions[i] lists the word positions of each proposition of sentence i"""
    tokens = tokenize(sentences)
    n = [len(p) for p in propositions]
    mask = torch.zeros(sum(n), tokens['input_ids'].size(1))
    for row, words in enumerate(w for p in propositions for w in p):
        mask[row, words] = 1
    return PropositionInput(tokens, mask, torch.tensor(n))


class SubSentenceEncoder(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, batch):
        tokens = batch.encoder_inputs
        hidden = self.embed(tokens['input_ids'])
        hidden = self.layers(hidden, src_key_padding_mask=tokens['attention_mask'] == 0)
        hidden = hidden.repeat_interleave(batch.num_prop_per_sentence, dim=0)
        mask = batch.all_prop_mask.unsqueeze(-1)
        pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.out(pooled)


torch.manual_seed(0)
first = collate(
    ['the band released two records last year and toured in spain',
     'she was born in oslo and studied law'],
    [[[0, 1, 2, 3, 4], [0, 1, 8, 9, 10]], [[0, 1, 2, 3, 4], [0, 6, 7]]])
second = collate(
    ['two albums came out', 'the group played in madrid', 'her birthplace is oslo', 'her degree is in law'],
    [[[0, 1, 2, 3]], [[0, 1, 2, 3, 4]], [[0, 1, 2, 3]], [[0, 1, 2, 3, 4]]])

model = SubSentenceEncoder().to(device)
model.eval()
first.to(device)
second.to(device)
with torch.no_grad():
    a = model(first)
    b = model(second)
scores = F.cosine_similarity(a.unsqueeze(1), b.unsqueeze(0), dim=-1)
for i, row in enumerate(scores.cpu()):
    print(i, ' '.join('%.3f' % s for s in row), 'best', int(row.argmax()))
