import torch
from torch.utils.data import DataLoader
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

torch.manual_seed(11)

WORDS = "the a river city is in of capital what where who wrote book france paris london england bridge".split()


def load_tokenizer():
    vocab = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for word in WORDS:
        vocab[word] = len(vocab)
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_0>"]})
    return tokenizer


def load_model():
    config = LlamaConfig(
        vocab_size=len(WORDS) + 3,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    return LlamaForCausalLM(config)


class LofitTrainer:
    def __init__(self, model, tokenizer, lr=5e-3, batch_size=3):
        self.model, self.tokenizer, self.batch_size = model, tokenizer, batch_size
        num_added = tokenizer.add_special_tokens({"pad_token": "[PAD]"})
        self.model.resize_token_embeddings(len(tokenizer))
        self.model.config.pad_token_id = tokenizer.pad_token_id
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def collate(self, texts):
        enc = self.tokenizer(texts, padding=True, return_tensors="pt")
        labels = enc["input_ids"].clone()
        labels[enc["attention_mask"] == 0] = -100
        return {"input_ids": enc["input_ids"], "attention_mask": enc["attention_mask"], "labels": labels}

    def train(self, texts, epochs=3):
        loader = DataLoader(texts, batch_size=self.batch_size, shuffle=True, collate_fn=self.collate)
        for epoch in range(epochs):
            total = 0.0
            for batch in loader:
                out = self.model(**batch)
                self.optimizer.zero_grad()
                out.loss.backward()
                self.optimizer.step()
                total += out.loss.item()
            print("epoch %d loss %.3f" % (epoch, total / len(loader)))


if __name__ == "__main__":
    questions = [
        "what is the capital of france </s>",
        "the capital is paris </s>",
        "where is the bridge in london </s>",
        "who wrote the book </s>",
        "the city of london is in england </s>",
        "a river in paris </s>",
    ]
    tokenizer = load_tokenizer()
    trainer = LofitTrainer(load_model(), tokenizer)
    print("pad token", tokenizer.pad_token, "vocabulary", trainer.model.config.vocab_size)
    trainer.train(questions)
