import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TinyEncoder(nn.Module):
    """Stands for the language model: gives one pooled vector for a text."""

    def __init__(self, vocab=800, dim=96, heads=4):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim, padding_idx=0)
        self.block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, batch_first=True)

    def forward(self, input_ids, padding_mask):
        h = self.block(self.embeddings(input_ids), src_key_padding_mask=padding_mask == 0)
        return h[:, 0]


class RegressionHead(nn.Module):
    def __init__(self, layer_dims, loss_reduction='mean'):
        super().__init__()
        self.feed_forward = nn.Sequential(*[nn.Linear(a, b) for a, b in zip(layer_dims, layer_dims[1:])])
        self.loss_fct = nn.MSELoss(reduction=loss_reduction)

    def forward(self, x):
        return self.feed_forward(x).squeeze()

    def logits_to_loss(self, logits, label_ids):
        return self.loss_fct(logits, label_ids.float())


class AdaptiveModel(nn.Module):
    def __init__(self, language_model, prediction_head):
        super().__init__()
        self.language_model = language_model
        self.prediction_head = prediction_head

    def forward(self, input_ids, padding_mask):
        return self.prediction_head(self.language_model(input_ids, padding_mask))


def make_data(n, seq_len=24):
    ids = torch.randint(1, 800, (n, seq_len))
    lengths = torch.randint(8, seq_len + 1, (n, 1))
    mask = (torch.arange(seq_len)[None] < lengths).long()
    labels = torch.randint(0, 17, (n, 1))      # scores from 0 to 16
    return TensorDataset(ids * mask, mask, labels)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--n_epochs', type=int, default=2)
    parser.add_argument('--batch_size', type=int, default=32)
    args = parser.parse_args()

    torch.manual_seed(42)
    data_silo = DataLoader(make_data(101), batch_size=args.batch_size, shuffle=True)
    model = AdaptiveModel(TinyEncoder(), RegressionHead([96, 1]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    for epoch in range(args.n_epochs):
        for input_ids, padding_mask, label_ids in data_silo:
            logits = model(input_ids, padding_mask)
            loss = model.prediction_head.logits_to_loss(logits, label_ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print('Train epoch %d (Cur. train loss: %.4f)' % (epoch + 1, loss.item()))
