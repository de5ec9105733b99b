import torch
import torch.nn as nn


class RobertaConfig:
    vocab_size = 32000
    hidden_size = 96
    num_attention_heads = 4
    num_hidden_layers = 2
    max_position_embeddings = 514
    pad_token_id = 3
    mask_token_id = 6
    cls_token_id = 4


def create_position_ids_from_input_ids(input_ids, padding_idx):
    mask = input_ids.ne(padding_idx).int()
    incremental = torch.cumsum(mask, dim=1).type_as(mask) * mask
    return incremental.long() + padding_idx


class RobertaEmbeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.padding_idx = config.pad_token_id
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=self.padding_idx)
        self.position_embeddings = nn.Embedding(
            config.max_position_embeddings, config.hidden_size, padding_idx=self.padding_idx)
        self.LayerNorm = nn.LayerNorm(config.hidden_size)

    def forward(self, input_ids, position_ids=None):
        if position_ids is None:
            position_ids = create_position_ids_from_input_ids(input_ids, self.padding_idx)
        embeddings = self.word_embeddings(input_ids)
        embeddings = embeddings + self.position_embeddings(position_ids)
        return self.LayerNorm(embeddings)


class RobertaModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = RobertaEmbeddings(config)
        layer = nn.TransformerEncoderLayer(
            config.hidden_size, config.num_attention_heads, 4 * config.hidden_size, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, config.num_hidden_layers, enable_nested_tensor=False)

    def forward(self, input_ids, attention_mask=None, position_ids=None):
        x = self.embeddings(input_ids, position_ids=position_ids)
        padding = attention_mask.eq(0) if attention_mask is not None else None
        return self.encoder(x, src_key_padding_mask=padding)


if __name__ == "__main__":
    torch.manual_seed(0)
    config = RobertaConfig()
    model = RobertaModel(config).eval()

    max_length = 512
    sentences = torch.randint(10, config.vocab_size, (4, max_length))
    sentences[:, 0] = config.cls_token_id
    sentences[1, 300:] = config.pad_token_id
    sentences[0, 17] = config.mask_token_id
    attention_mask = sentences.ne(config.pad_token_id)
    position_ids = torch.arange(max_length).unsqueeze(0)

    with torch.no_grad():
        hidden = model(sentences, attention_mask=attention_mask)
    pooled = (hidden * attention_mask.unsqueeze(-1)).sum(1) / attention_mask.sum(1, keepdim=True)
    print(hidden.shape, pooled.shape, position_ids.shape)
