import json
import os
import random
import tempfile

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel

SPECIAL_TOKENS = ["[PAD]", "[CLS]", "[SEP]", "[speaker1]", "[speaker2]"]
N_POSITIONS = 128


class CharTokenizer:
    def __init__(self, dialogs):
        chars = sorted({c for d in dialogs for u in d for c in u})
        self.vocab = {t: i for i, t in enumerate(SPECIAL_TOKENS + chars)}

    def encode(self, text):
        return [self.vocab[c] for c in text]

    def __len__(self):
        return len(self.vocab)


class DialogDataset(Dataset):
    def __init__(self, dialogs, tokenizer, max_history=15, lm_labels=True):
        self.tokenizer = tokenizer
        self.max_history = max_history
        self.lm_labels = lm_labels
        self.dialogs = [[tokenizer.encode(u) for u in d] for d in dialogs]

    def __len__(self):
        return len(self.dialogs)

    def __getitem__(self, index):
        dialog = self.dialogs[index][-2 * self.max_history:]
        history, response = dialog[:-1], dialog[-1]
        return self.build(history, response)

    def build(self, history, response):
        v = self.tokenizer.vocab
        cls, sep, sp1, sp2 = (v[t] for t in SPECIAL_TOKENS[1:])
        ids, types = [cls], [cls]
        for i, turn in enumerate(history + [response]):
            speaker = sp2 if i % 2 else sp1
            ids += [speaker] + turn
            types += [speaker] * (len(turn) + 1)
        ids.append(sep)
        types.append(types[-1])
        labels = [-100] * len(ids)
        if self.lm_labels:
            n = len(response) + 1
            labels[-n:] = ids[-n:]
        return torch.tensor(ids), torch.tensor(types), torch.tensor(labels)

    def collate(self, batch):
        ids, types, labels = zip(*batch)
        return (
            pad_sequence(ids, batch_first=True, padding_value=0),
            pad_sequence(types, batch_first=True, padding_value=0),
            pad_sequence(labels, batch_first=True, padding_value=-100),
        )


def write_corpus(path):
    """Our customer service chats, one list of utterances per line."""
    rnd = random.Random(3)
    words = "when where my order parcel late refund thanks please wait the code is broken ok sure".split()
    with open(path, "w") as f:
        for _ in range(60):
            turns = rnd.randint(2, 8)
            dialog = [" ".join(rnd.choices(words, k=rnd.randint(2, 6))) for _ in range(turns)]
            f.write(json.dumps(dialog) + "\n")


def main():
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "chats.jsonl")
    write_corpus(path)
    with open(path) as f:
        dialogs = [json.loads(line) for line in f]

    tokenizer = CharTokenizer(dialogs)
    dataset = DialogDataset(dialogs, tokenizer)
    loader = DataLoader(dataset, batch_size=4, shuffle=True, collate_fn=dataset.collate)

    config = GPT2Config(vocab_size=len(tokenizer), n_positions=N_POSITIONS, n_embd=48, n_layer=2, n_head=4,
                        bos_token_id=1, eos_token_id=2)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    model.train()
    for epoch in range(2):
        total = 0.0
        for input_ids, token_type_ids, labels in loader:
            out = model(input_ids, token_type_ids=token_type_ids, labels=labels)
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            total += out.loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.3f}")


if __name__ == "__main__":
    main()
