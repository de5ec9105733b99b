# pretrain_code_lm.py - next-token model over source code, BPE trained on our own snippets
import random
import torch
from torch.utils.data import DataLoader, Dataset
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.trainers import BpeTrainer
from transformers import GPT2Config, GPT2LMHeadModel

HPARAMS = {
    "vocab_size": 300,
    "context": 32,
    "width": 96,
    "layers": 2,
    "heads": 8,
    "lr": 1e-3,
    "batch_size": 16,
    "epochs": 2,
}


def make_snippets(n, seed=0):
    rnd = random.Random(seed)
    names = ["total", "count", "index", "value", "result", "buffer", "offset", "size"]
    ops = ["+", "-", "*", "//"]
    out = []
    for _ in range(n):
        a, b, c = rnd.sample(names, 3)
        kind = rnd.randrange(3)
        if kind == 0:
            out.append(f"def get_{a} ( {b} , {c} ) : return {b} {rnd.choice(ops)} {c}")
        elif kind == 1:
            out.append(f"for {a} in range ( {b} ) : {c} += {a}")
        else:
            out.append(f"if {a} > {b} : {c} = {a} {rnd.choice(ops)} {rnd.randrange(100)}")
    return out


def train_tokenizer(texts, vocab_size):
    tok = Tokenizer(BPE(unk_token="<unk>"))
    tok.pre_tokenizer = Whitespace()
    tok.train_from_iterator(texts, BpeTrainer(vocab_size=vocab_size, special_tokens=["<unk>", "<eos>"],
                                              show_progress=False))
    return tok


class PackedCode(Dataset):
    """All snippets joined by <eos> and cut in blocks of equal length."""

    def __init__(self, texts, tok, context):
        eos = tok.token_to_id("<eos>")
        stream = []
        for enc in tok.encode_batch(texts):
            stream += enc.ids + [eos]
        n = len(stream) // context
        self.blocks = torch.tensor(stream[: n * context]).view(n, context)

    def __len__(self):
        return self.blocks.size(0)

    def __getitem__(self, i):
        return self.blocks[i]


def build_model(tok, hp):
    config = GPT2Config(
        vocab_size=tok.get_vocab_size(),
        n_positions=hp["context"],
        n_embd=hp["width"],
        n_layer=hp["layers"],
        n_head=hp["heads"],
        bos_token_id=tok.token_to_id("<eos>"),
        eos_token_id=tok.token_to_id("<eos>"),
    )
    return GPT2LMHeadModel(config)


def main():
    hp = HPARAMS
    torch.manual_seed(0)
    texts = make_snippets(400)
    tok = train_tokenizer(texts, hp["vocab_size"])
    loader = DataLoader(PackedCode(texts, tok, hp["context"]), batch_size=hp["batch_size"], shuffle=True)
    model = build_model(tok, hp)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e3:.0f}k parameters, {len(loader)} batches")
    opt = torch.optim.AdamW(model.parameters(), lr=hp["lr"])
    model.train()
    for epoch in range(hp["epochs"]):
        total = 0.0
        for block in loader:
            loss = model(input_ids=block, labels=block).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.3f}")


if __name__ == "__main__":
    main()
