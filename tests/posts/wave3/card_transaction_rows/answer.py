import torch
import torch.nn as nn


class FieldEncoder(nn.Module):
    """Turns the fields of one transaction (amount, merchant, hour, ...) into one vector."""

    def __init__(self, ncols=12, vocab_size=500, hidden_size=60, nhead=5, output_size=128):
        super().__init__()
        self.ncols, self.hidden_size = ncols, hidden_size
        self.word_embeddings = nn.Embedding(vocab_size, hidden_size, padding_idx=0)
        encoder_layer = nn.TransformerEncoderLayer(d_model=hidden_size, nhead=nhead, dim_feedforward=hidden_size)
        self.transformer_encoder = nn.TransformerEncoder(encoder_layer, num_layers=1, enable_nested_tensor=False)
        self.lin_proj = nn.Linear(hidden_size * ncols, output_size)

    def forward(self, input_ids):
        # input_ids: (batch, rows, fields)
        embeds = self.word_embeddings(input_ids)
        batch, rows = embeds.shape[:2]
        embeds = embeds.view(batch * rows, self.ncols, self.hidden_size)
        embeds = self.transformer_encoder(embeds.permute(1, 0, 2)).permute(1, 0, 2)
        embeds = embeds.reshape(batch, rows, self.ncols * self.hidden_size)
        return self.lin_proj(embeds)


class FraudModel(nn.Module):
    """Fraud or not for a window of ten transactions of one card."""

    def __init__(self):
        super().__init__()
        self.fields = FieldEncoder()
        self.rows = nn.LSTM(128, 64, batch_first=True)
        self.classifier = nn.Linear(64, 2)

    def forward(self, window):
        out, _ = self.rows(self.fields(window))
        return self.classifier(out[:, -1])
