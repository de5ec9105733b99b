import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def create_sinusoidal_embeddings(nb_p, dim, E):
    theta = np.array([[p / np.power(10000, 2 * (j // 2) / dim) for j in range(dim)] for p in range(nb_p)])
    with torch.no_grad():
        E[:, 0::2] = torch.FloatTensor(np.sin(theta[:, 0::2]))
        E[:, 1::2] = torch.FloatTensor(np.cos(theta[:, 1::2]))
    E.requires_grad = False
    return E


class Embeddings(nn.Module):
    def __init__(self, d_model, vocab_size, max_position_embeddings):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, d_model, padding_idx=1)
        self.position_embeddings = nn.Embedding(max_position_embeddings, d_model)
        create_sinusoidal_embeddings(nb_p=max_position_embeddings, dim=d_model,
                                     E=self.position_embeddings.weight)
        self.LayerNorm = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, input_ids):
        seq_length = input_ids.size(1)
        position_ids = torch.arange(seq_length, dtype=torch.long, device=input_ids.device)
        position_ids = position_ids.unsqueeze(0).expand_as(input_ids)
        return self.LayerNorm(self.word_embeddings(input_ids) + self.position_embeddings(position_ids))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, conv_hidden_dim, p=0.1):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.k1convL1 = nn.Linear(d_model, conv_hidden_dim)
        self.k1convL2 = nn.Linear(conv_hidden_dim, d_model)
        self.layernorm1 = nn.LayerNorm(d_model, eps=1e-6)
        self.layernorm2 = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, x):
        attn_output, _ = self.mha(x, x, x)
        out1 = self.layernorm1(x + attn_output)
        return self.layernorm2(out1 + self.k1convL2(F.relu(self.k1convL1(out1))))


class TransformerClassifier(nn.Module):
    def __init__(self, num_layers=1, d_model=32, num_heads=2, conv_hidden_dim=128,
                 input_vocab_size=50002, num_answers=2):
        super().__init__()
        self.embedding = Embeddings(d_model, input_vocab_size, max_position_embeddings=10000)
        self.enc_layers = nn.ModuleList(
            [EncoderLayer(d_model, num_heads, conv_hidden_dim) for _ in range(num_layers)])
        self.dense = nn.Linear(d_model, num_answers)

    def forward(self, x):
        x = self.embedding(x)
        for layer in self.enc_layers:
            x = layer(x)
        x, _ = torch.max(x, dim=1)
        return self.dense(x)
