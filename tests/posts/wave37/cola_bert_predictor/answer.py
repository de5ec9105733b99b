import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertModel

WORDS = "[PAD] [CLS] [SEP] [UNK] the a boy girl dog cat is was sitting sleeping on under bench mat red old".split()
VOCAB = {w: i for i, w in enumerate(WORDS)}
LABELS = ["unacceptable", "acceptable"]
MAX_LEN = 12


def encode(sentence):
    ids = [VOCAB["[CLS]"]] + [VOCAB.get(w, VOCAB["[UNK]"]) for w in sentence.lower().split()] + [VOCAB["[SEP]"]]
    ids = ids[:MAX_LEN]
    mask = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
    ids = ids + [VOCAB["[PAD]"]] * (MAX_LEN - len(ids))
    return torch.tensor(ids), torch.tensor(mask)


def make_sentences(n, generator):
    def pick(options):
        return options[torch.randint(len(options), (1,), generator=generator).item()]

    rows = []
    for _ in range(n):
        good = [pick(["the", "a"]), pick(["boy", "girl", "dog", "cat"]), pick(["is", "was"]),
                pick(["sitting", "sleeping"]), pick(["on", "under"]), pick(["the", "a"]), pick(["bench", "mat"])]
        label = torch.randint(2, (1,), generator=generator).item()
        if label == 0:
            good = good[2:] + good[:2]
        rows.append((" ".join(good), label))
    return rows


class ColaData(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        sentence, label = self.rows[i]
        ids, mask = encode(sentence)
        return {"input_ids": ids, "attention_mask": mask, "label": torch.tensor(label)}


class ColaModel(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(vocab_size=len(VOCAB), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                            intermediate_size=128, max_position_embeddings=MAX_LEN)
        self.bert = BertModel(config)
        self.classifier = nn.Linear(64, len(LABELS))

    def forward(self, input_ids, attention_mask):
        outputs = self.bert(input_ids=input_ids, attention_mask=attention_mask)
        return self.classifier(outputs.last_hidden_state[:, 0])


class ColaPredictor:
    def __init__(self, model):
        self.model = model
        self.model.eval()
        self.softmax = nn.Softmax(dim=1)

    @torch.no_grad()
    def predict(self, text):
        ids, mask = encode(text)
        logits = self.model(ids.unsqueeze(0), mask.unsqueeze(0))
        scores = self.softmax(logits[:, :]).tolist()[0]
        return [{"label": label, "score": round(score, 4)} for label, score in zip(LABELS, scores)]


def fit(model, loader, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for epoch in range(epochs):
        model.train()
        total, correct = 0.0, 0
        for batch in loader:
            logits = model(batch["input_ids"], batch["attention_mask"])
            loss = F.cross_entropy(logits, batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(logits)
            correct += (logits.argmax(-1) == batch["label"]).sum().item()
        n = len(loader.dataset)
        print(f"epoch {epoch} train/loss {total / n:.4f} train/acc {correct / n:.4f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    rows = make_sentences(320, torch.Generator().manual_seed(5))
    model = ColaModel()
    fit(model, DataLoader(ColaData(rows), batch_size=32, shuffle=True), epochs=4)

    predictor = ColaPredictor(model)
    for sentence in ["the boy is sitting on a bench", "is sitting on a bench the boy"]:
        print(sentence, "->", predictor.predict(sentence))
