import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.models as tvmodels
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class DenseNet(tvmodels.DenseNet):
    def forward(self, x):
        return F.relu(self.features(x))


class TimeEncoding(nn.Module):
    def __init__(self, dim, maxtime=360):
        super().__init__()
        position = torch.arange(0, maxtime, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
        pe = torch.zeros(maxtime, dim)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x, times):
        return x + self.pe[times.abs().long()]


class MIPModel(nn.Module):
    def __init__(self, image_model, feature_dim, projection_dim, num_classes, num_heads, feedforward_dim,
                 drop, pooling, image_shape=(7, 7)):
        super().__init__()
        self.image_shape = image_shape
        self.pooling = pooling
        self.image_model = image_model
        self.group_norm = nn.GroupNorm(16, feature_dim)
        self.projection = nn.Conv2d(feature_dim, projection_dim, (1, 1))
        transformer_dim = projection_dim * image_shape[0] * image_shape[1]
        self.pos_encoding = TimeEncoding(transformer_dim)
        self.transformer = nn.TransformerEncoderLayer(transformer_dim, num_heads, feedforward_dim, drop,
                                                      batch_first=True)
        self.classifier = nn.Linear(feature_dim + projection_dim, num_classes)

    def _pool(self, image_feats, lens):
        pooled_feats = []
        for b, l in enumerate(lens.tolist()):
            if self.pooling == 'last_timestep':
                pooled_feats.append(image_feats[b, int(l) - 1])
            elif self.pooling == 'sum':
                pooled_feats.append(image_feats[b, :int(l)].sum(1))
            else:
                raise ValueError(f'Unknown pooling method: {self.pooling}')
        pooled_feats = torch.stack(pooled_feats)
        pooled_feats = F.adaptive_avg_pool2d(pooled_feats, (1, 1))
        return pooled_feats.squeeze(3).squeeze(2)

    def forward(self, images, times, lens):
        B, N, C, H, W = images.shape
        image_feats = self.image_model(images.reshape(B * N, C, H, W))
        image_feats = F.relu(self.group_norm(image_feats))
        proj = self.projection(image_feats).reshape(B, N, -1)
        trans = self.transformer(self.pos_encoding(proj, times)).reshape(B, N, -1, *self.image_shape)
        image_feats = image_feats.reshape(B, N, -1, *self.image_shape)
        combined = torch.cat([image_feats, trans], dim=2)
        return self.classifier(self._pool(combined, lens))


image_model = DenseNet(growth_rate=8, block_config=(2, 2, 2, 2), num_init_features=16)
feature_dim = image_model.classifier.in_features
del image_model.classifier
mipmodel = MIPModel(image_model, feature_dim, 16, 2, 2, 64, 0.1, 'sum')

n, n_images = 8, 4
images = torch.rand(n, n_images, 3, 224, 224)
times = torch.tensor([[-30, -20, -10, 0]]).repeat(n, 1)
lens = torch.full((n,), 4)
labels = torch.randint(0, 2, (n, 2)).float()
loader = DataLoader(TensorDataset(images, times, lens, labels), batch_size=2, shuffle=True)
optimizer = torch.optim.Adam(mipmodel.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(2):
    for x, t, l, y in loader:
        out = mipmodel(x, t, l)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
