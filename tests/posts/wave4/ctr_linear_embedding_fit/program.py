import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BaseModel(nn.Module):
    """Click-through-rate model with a scikit-learn like fit()."""

    def __init__(self, vocab_sizes, dense_dim, emb_dim=8, hidden=(64, 32), l2_reg_embedding=1e-5, l2_reg_dnn=1e-4):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(v, emb_dim) for v in vocab_sizes])
        for emb in self.embeddings:
            nn.init.normal_(emb.weight, std=1e-2)
        layers, width = [], len(vocab_sizes) * emb_dim + dense_dim
        for h in hidden:
            layers += [nn.Linear(width, h), nn.ReLU()]
            width = h
        self.dnn = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)
        self.reg_loss = torch.zeros((1,))
        self.add_regularization_loss(self.embeddings.parameters(), l2_reg_embedding)
        self.add_regularization_loss([p for n, p in self.dnn.named_parameters() if "weight" in n], l2_reg_dnn)

    def add_regularization_loss(self, weight_list, weight_decay):
        reg_loss = torch.zeros((1,))
        for w in weight_list:
            reg_loss = reg_loss + weight_decay * w.pow(2).sum()
        self.reg_loss = self.reg_loss + reg_loss

    def forward(self, sparse, dense):
        emb = [e(sparse[:, i]) for i, e in enumerate(self.embeddings)]
        x = torch.cat(emb + [dense], dim=-1)
        return torch.sigmoid(self.out(self.dnn(x)))

    def compile(self, lr=1e-3):
        self.optim = torch.optim.Adam(self.parameters(), lr=lr)
        self.loss_func = F.binary_cross_entropy

    def fit(self, sparse, dense, y, batch_size=256, epochs=1, verbose=1):
        data = TensorDataset(torch.from_numpy(sparse), torch.from_numpy(dense), torch.from_numpy(y))
        loader = DataLoader(data, batch_size=batch_size, shuffle=True)
        self.train()
        for epoch in range(epochs):
            total_loss_epoch = 0
            for s, d, target in loader:
                y_pred = self(s, d).squeeze(1)
                self.optim.zero_grad()
                loss = self.loss_func(y_pred, target, reduction="sum")
                total_loss = loss + self.reg_loss
                total_loss_epoch += total_loss.item()
                total_loss.backward(retain_graph=True)
                self.optim.step()
            if verbose:
                print("Epoch {0}/{1} - loss: {2:.4f}".format(epoch + 1, epochs, total_loss_epoch / len(data)))


if __name__ == "__main__":
    rng = np.random.default_rng(1024)
    vocab = [50, 120, 7, 300]
    sparse = np.stack([rng.integers(0, v, 1000) for v in vocab], axis=1)
    dense = rng.random((1000, 13), dtype=np.float32)
    y = (rng.random(1000) < 0.25).astype(np.float32)

    model = BaseModel(vocab, dense_dim=13)
    model.compile()
    model.fit(sparse, dense, y, batch_size=256, epochs=2)
