import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import BertConfig, BertModel

WORDS = ("[PAD] [CLS] [SEP] the a cat dog sat ran on mat road in rain sun "
         "stock price fell rose bank market today").split()
LOOKUP = {w: i for i, w in enumerate(WORDS)}

SENTENCES = [
    "the cat sat on the mat",
    "a dog sat on a road",
    "the dog ran in the rain",
    "the stock price fell today",
    "bank price rose in the market",
]


def encode(sentence, max_len=12):
    ids = [LOOKUP["[CLS]"]] + [LOOKUP[w] for w in sentence.split()] + [LOOKUP["[SEP]"]]
    mask = [1] * len(ids) + [0] * (max_len - len(ids))
    ids = ids + [LOOKUP["[PAD]"]] * (max_len - len(ids))
    return torch.tensor(ids), torch.tensor(mask)


class SentenceEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        config = BertConfig(vocab_size=len(WORDS), hidden_size=48, num_hidden_layers=2,
                            num_attention_heads=4, intermediate_size=96,
                            max_position_embeddings=16)
        self.bert = BertModel(config, add_pooling_layer=False)

    def forward(self, ids, mask):
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).float()
        return (hidden * weight).sum(1) / weight.sum(1)


def embed_all(encoder, sentences):
    encoder.eval()
    pairs = [encode(s) for s in sentences]
    ids = torch.stack([p[0] for p in pairs])
    mask = torch.stack([p[1] for p in pairs])
    with torch.no_grad():
        return encoder(ids, mask)


def most_similar(vectors, query_index):
    best, best_score = None, -2.0
    query = vectors[query_index]
    for j, candidate in enumerate(vectors):
        if j == query_index:
            continue
        score = F.cosine_similarity(query, candidate, dim=0).item()
        if score > best_score:
            best, best_score = j, score
    return best, best_score


def main():
    torch.manual_seed(11)
    encoder = SentenceEncoder()
    vectors = embed_all(encoder, SENTENCES)
    print("embeddings:", tuple(vectors.shape))
    for i, sentence in enumerate(SENTENCES):
        j, score = most_similar(vectors, i)
        print(f"{sentence!r:38} -> {SENTENCES[j]!r:38} {score:.4f}")


if __name__ == "__main__":
    main()
