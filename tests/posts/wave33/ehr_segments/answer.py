import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

MAX_LEN = 40
MAX_SEGMENTS = 16
HIDDEN = 48


def load_events(n_patients=160, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for pid in range(n_patients):
        day = pd.Timestamp("2015-01-01") + pd.Timedelta(days=int(rng.integers(0, 900)))
        for _ in range(int(rng.integers(2, 8))):
            admission = "adm_%05d" % rng.integers(0, 99999)
            for _ in range(int(rng.integers(1, 6))):
                rows.append((pid, admission, day, "D%02d" % rng.integers(0, 60)))
            day = day + pd.Timedelta(days=int(rng.integers(20, 200)))
    return pd.DataFrame(rows, columns=["PID", "ADMISSION_ID", "TIMESTAMP", "CONCEPT"])


def build_vocabulary(events):
    vocab = {"[PAD]": 0, "[CLS]": 1, "[MASK]": 2, "[UNK]": 3}
    for c in sorted(events["CONCEPT"].unique()):
        vocab[c] = len(vocab)
    return vocab


def create_features(events, vocab):
    events = events.sort_values(["PID", "TIMESTAMP"], kind="stable").copy()
    events["segment"] = events.groupby("PID")["ADMISSION_ID"].transform(
        lambda ids: pd.factorize(ids)[0] + 1
    )
    birth = pd.Timestamp("1960-01-01")
    events["age"] = (events["TIMESTAMP"] - birth).dt.days / 365.25
    events["concept"] = events["CONCEPT"].map(vocab)
    return events


class PatientDataset(Dataset):
    def __init__(self, events):
        self.patients = [g for _, g in events.groupby("PID")]

    def __len__(self):
        return len(self.patients)

    def __getitem__(self, i):
        p = self.patients[i].iloc[:MAX_LEN]
        concept = torch.tensor(p["concept"].to_numpy())
        readmitted = float(self.patients[i]["segment"].nunique() > 4)
        return {
            "concept": concept,
            "segment": torch.tensor(p["segment"].to_numpy()),
            "age": torch.tensor(p["age"].to_numpy(), dtype=torch.float32),
            "target": torch.tensor(readmitted),
        }


def collate(batch):
    out = {k: pad_sequence([b[k] for b in batch], batch_first=True, padding_value=0)
           for k in ("concept", "segment", "age")}
    out["target"] = torch.stack([b["target"] for b in batch])
    return out


class EhrEmbeddings(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.concept = nn.Embedding(vocab_size, HIDDEN, padding_idx=0)
        self.segment = nn.Embedding(MAX_SEGMENTS, HIDDEN, padding_idx=0)
        self.age = nn.Linear(1, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, concept, segment, age):
        x = self.concept(concept) + self.age(age.unsqueeze(-1) / 100)
        x = x + self.segment(segment)
        return self.norm(x)


class EhrEncoder(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.embeddings = EhrEmbeddings(vocab_size)
        layer = nn.TransformerEncoderLayer(HIDDEN, 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(HIDDEN, 1)

    def forward(self, concept, segment, age):
        pad = concept == 0
        h = self.encoder(self.embeddings(concept, segment, age), src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).float()
        return self.head((h * keep).sum(1) / keep.sum(1)).squeeze(-1)


def main():
    torch.manual_seed(0)
    events = load_events()
    vocab = build_vocabulary(events)
    features = create_features(events, vocab)
    loader = DataLoader(PatientDataset(features), batch_size=16, shuffle=True, collate_fn=collate)
    model = EhrEncoder(len(vocab))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(4):
        total = 0.0
        for batch in loader:
            target = batch.pop("target")
            loss = nn.functional.binary_cross_entropy_with_logits(model(**batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d loss %.4f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    main()
