import os
import pickle
import tempfile

import numpy as np
import torch
import torch.nn as nn

PAD, UNK = "<pad>", "<unk>"


def write_vocabularies(folder):
    words = [PAD, UNK] + "the a dog cat man tree runs sees likes old red big quickly under near".split()
    tags = [PAD, "DT", "NN", "VBZ", "JJ", "RB"]
    with open(os.path.join(folder, "word_vocab.pkl"), "wb") as f:
        pickle.dump({w: i for i, w in enumerate(words)}, f)
    with open(os.path.join(folder, "pos_vocab.pkl"), "wb") as f:
        pickle.dump({t: i for i, t in enumerate(tags)}, f)


def sample_corpus(n, seed):
    rng = np.random.RandomState(seed)
    lex = {"DT": ["the", "a"], "NN": ["dog", "cat", "man", "tree"], "VBZ": ["runs", "sees", "likes"],
           "JJ": ["old", "red", "big"], "RB": ["quickly"], "IN": ["under", "near"]}
    shapes = [["DT", "JJ", "NN", "VBZ", "RB"], ["DT", "NN", "VBZ", "DT", "NN"],
              ["DT", "NN", "VBZ", "IN", "DT", "JJ", "NN"]]
    corpus = []
    for _ in range(n):
        tags = shapes[rng.randint(len(shapes))]
        corpus.append([(lex[t][rng.randint(len(lex[t]))], t) for t in tags])
    return corpus


def convert(folder, corpus, out_name, max_len=8):
    """Turn tagged sentences into id arrays for the reordering model."""
    with open(os.path.join(folder, "word_vocab.pkl"), "rb") as f:
        vocab = pickle.load(f)
    with open(os.path.join(folder, "pos_vocab.pkl"), "rb") as f:
        pos_vocab = pickle.load(f)
    sents = np.zeros((len(corpus), max_len), dtype=np.int64)
    tags = np.zeros((len(corpus), max_len), dtype=np.int64)
    order = np.zeros((len(corpus), max_len), dtype=np.int64)
    for i, sent in enumerate(corpus):
        for j, (word, tag) in enumerate(sent):
            if tag not in pos_vocab:
                pos_vocab[tag] = len(pos_vocab)
            sents[i, j] = vocab.get(word, vocab[UNK])
            tags[i, j] = pos_vocab[tag]
            order[i, j] = len(sent) - 1 - j
    np.savez(os.path.join(folder, out_name), sents=sents, tags=tags, order=order)
    with open(os.path.join(folder, "pos_vocab_new.pkl"), "wb") as f:
        pickle.dump(pos_vocab, f)


class SowModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word_emb = nn.Embedding(config["vocab_size"], config["dim"], padding_idx=0)
        self.pos_emb = nn.Embedding(config["postag_size"], config["dim"], padding_idx=0)
        layer = nn.TransformerEncoderLayer(2 * config["dim"], 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(2 * config["dim"], config["max_len"])

    def forward(self, sents, tags):
        x = torch.cat([self.word_emb(sents), self.pos_emb(tags)], dim=-1)
        return self.out(self.encoder(x, src_key_padding_mask=sents == 0))


def train(folder, data_name, epochs=3, batch_size=16):
    vocab = pickle.load(open(os.path.join(folder, "word_vocab.pkl"), "rb"))
    pos = pickle.load(open(os.path.join(folder, "pos_vocab.pkl"), "rb"))
    arrays = np.load(os.path.join(folder, data_name))
    sents, tags, order = (torch.from_numpy(arrays[k]) for k in ("sents", "tags", "order"))

    model_config = {"dim": 32, "max_len": sents.size(1), "vocab_size": len(vocab)}
    model_config["postag_size"] = len(pos)
    model = SowModel(model_config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.CrossEntropyLoss(reduction="none")
    for ep in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(sents)).split(batch_size):
            logits = model(sents[idx], tags[idx])
            mask = (sents[idx] != 0).float()
            loss = (loss_fn(logits.transpose(1, 2), order[idx]) * mask).sum() / mask.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print("epoch %d loss %.4f" % (ep, total / len(sents)))


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as work:
        write_vocabularies(work)
        convert(work, sample_corpus(128, 4), "train_sow.npz")
        train(work, "train_sow.npz")
