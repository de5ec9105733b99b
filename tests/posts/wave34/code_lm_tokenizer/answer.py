import argparse
import logging
import os
import tempfile

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger("finetune")

SNIPPETS = [
    "def add(a, b):\n    return a + b\n",
    "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, x):\n        self.items.append(x)\n",
    "for i in range(10):\n    print(i)\n",
    "import os\n\ndef listing(path):\n    return sorted(os.listdir(path))\n",
    "def fact(n):\n    if n <= 1:\n        return 1\n    return n * fact(n - 1)\n",
    "with open(name) as f:\n    for line in f:\n        total += int(line)\n",
]


def write_repo(folder):
    for i, text in enumerate(SNIPPETS * 3):
        with open(os.path.join(folder, "mod_%02d.py" % i), "w") as f:
            f.write(text)


def collect_code(folder, output_file):
    count = 0
    with open(output_file, "w") as out:
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith(".py"):
                    with open(os.path.join(root, name)) as f:
                        out.write(f.read().replace("\n", " <nl> ") + "\n")
                    count += 1
    logger.info("collected %d files", count)


def load_base_model(folder):
    raw = Tokenizer(models.BPE(unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.train_from_iterator(SNIPPETS, trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>", "<s>", "</s>"]))
    PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>").save_pretrained(folder)
    config = LlamaConfig(vocab_size=raw.get_vocab_size(), hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
    return LlamaForCausalLM(config)


def load_and_tokenize_dataset(tokenizer_path, data_file, max_length):
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tokenizer_path)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    logger.info("Tokenizing dataset...")
    with open(data_file) as f:
        lines = [line.strip() for line in f if line.strip()]
    enc = tokenizer(lines, truncation=True, padding="max_length", max_length=max_length, return_tensors="pt")
    rows = []
    for ids, mask in zip(enc["input_ids"], enc["attention_mask"]):
        rows.append({"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)})
    return tokenizer, rows


def train(model, rows, args):
    loader = DataLoader(rows, batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model.train()
    for epoch in range(args.epochs):
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        logger.info("epoch %d loss %.3f", epoch, loss.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_length", type=int, default=48)
    parser.add_argument("--batch_size", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        repo, base = os.path.join(tmp, "repo"), os.path.join(tmp, "base")
        os.makedirs(repo)
        write_repo(repo)
        data_file = os.path.join(tmp, "train.txt")
        collect_code(repo, data_file)
        model = load_base_model(base)
        tokenizer, rows = load_and_tokenize_dataset(base, data_file, args.max_length)
        train(model, rows, args)


if __name__ == "__main__":
    main()
