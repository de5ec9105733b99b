import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)
LABELS = ['Other', 'Lead', 'Position', 'Claim', 'Counterclaim', 'Rebuttal', 'Evidence', 'Concluding Statement']


class EssayDataset(Dataset):
    def __init__(self, n, max_length=128, vocab=2000):
        self.input_ids = torch.randint(1, vocab, (n, max_length))
        self.labels = torch.randint(0, len(LABELS), (n, max_length // 8)).repeat_interleave(8, dim=1)
        lengths = torch.randint(40, max_length, (n,))
        for i, l in enumerate(lengths):
            self.input_ids[i, l:] = 0
            self.labels[i, l:] = -100

    def __len__(self):
        return len(self.input_ids)

    def __getitem__(self, i):
        return {'input_ids': self.input_ids[i], 'labels': self.labels[i]}


class TokenClassifier(nn.Module):
    def __init__(self, vocab=2000, dim=64, num_labels=len(LABELS)):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        layer = nn.TransformerEncoderLayer(dim, 4, 128, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classifier = nn.Linear(dim, num_labels)

    def forward(self, input_ids):
        x = self.encoder(self.embed(input_ids), src_key_padding_mask=input_ids.eq(0))
        return self.classifier(x)


def get_spans(tags):
    spans, start = set(), 0
    for i in range(1, len(tags) + 1):
        if i == len(tags) or tags[i] != tags[start]:
            spans.add((start, i, int(tags[start])))
            start = i
    return spans


def evaluate_batch(preds, labels):
    tp = np.zeros(len(LABELS))
    fp = np.zeros(len(LABELS))
    fn = np.zeros(len(LABELS))
    for pred, label in zip(preds, labels):
        keep = label != -100
        p_spans, t_spans = get_spans(pred[keep].tolist()), get_spans(label[keep].tolist())
        for s in p_spans & t_spans:
            tp[s[2]] += 1
        for s in p_spans - t_spans:
            fp[s[2]] += 1
        for s in t_spans - p_spans:
            fn[s[2]] += 1
    return tp, fp, fn


def f1_score(tp, fp, fn):
    return tp / np.maximum(tp + 0.5 * (fp + fn), 1)


def evaluate(model, loader):
    model.eval()
    total = np.zeros((3, len(LABELS)))
    with torch.no_grad():
        for batch in loader:
            preds = model(batch['input_ids']).argmax(-1)
            tp, fp, fn = evaluate_batch(preds, batch['labels'])
            total += np.stack([tp, fp, fn])
    f1 = f1_score(*total)
    return dict(zip(LABELS, f1.round(3))), f1.mean()


train_loader = DataLoader(EssayDataset(64), batch_size=8, shuffle=True)
test_loader = DataLoader(EssayDataset(20), batch_size=8)
model = TokenClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for epoch in range(2):
    model.train()
    for batch in train_loader:
        optimizer.zero_grad()
        logits = model(batch['input_ids'])
        loss = criterion(logits.view(-1, logits.size(-1)), batch['labels'].view(-1))
        loss.backward()
        optimizer.step()
    per_class, macro = evaluate(model, test_loader)
    print(f'epoch {epoch} loss {loss.item():.3f} macro f1 {macro:.4f}')
    print(per_class)
