import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import models


class Encoder(nn.Module):
    """grid features of the last convolutional block and one vector for the whole picture"""

    def __init__(self, hidden_size, embed_size):
        super(Encoder, self).__init__()
        resnet = models.resnet18(weights=None)
        self.resnet = nn.Sequential(*list(resnet.children())[:-2])
        self.avgpool = nn.AvgPool2d(7)
        self.v_affine = nn.Linear(512, hidden_size)
        self.g_affine = nn.Linear(512, embed_size)

    def forward(self, images):
        encoded_image = self.resnet(images)
        batch_size, features, height, width = encoded_image.size()
        num_pixels = height * width
        a_g = self.avgpool(encoded_image).view(batch_size, -1)
        enc_image = encoded_image.permute(0, 2, 3, 1).reshape(batch_size, num_pixels, features)
        V = F.relu(self.v_affine(enc_image))
        v_g = F.relu(self.g_affine(a_g))
        return V, v_g


class AdaptiveAttention(nn.Module):
    def __init__(self, hidden_size, att_dim):
        super(AdaptiveAttention, self).__init__()
        self.affine_v = nn.Linear(hidden_size, att_dim)
        self.affine_h = nn.Linear(hidden_size, att_dim)
        self.affine_s = nn.Linear(hidden_size, att_dim)
        self.score = nn.Linear(att_dim, 1)

    def forward(self, V, h, s):
        hidden = self.affine_h(h)
        z = self.score(torch.tanh(self.affine_v(V) + hidden.unsqueeze(1))).squeeze(2)
        z_s = self.score(torch.tanh(self.affine_s(s) + hidden))
        alpha = F.softmax(torch.cat([z, z_s], dim=1), dim=1)
        context = (torch.cat([V, s.unsqueeze(1)], dim=1) * alpha.unsqueeze(2)).sum(dim=1)
        return context, alpha


class Captioner(nn.Module):
    def __init__(self, vocab_size=500, hidden_size=128, embed_size=64, att_dim=49):
        super(Captioner, self).__init__()
        self.encoder = Encoder(hidden_size, embed_size)
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.cell = nn.LSTMCell(2 * embed_size, hidden_size)
        self.gate = nn.Linear(2 * embed_size + hidden_size, hidden_size)
        self.attention = AdaptiveAttention(hidden_size, att_dim)
        self.fc = nn.Linear(hidden_size, vocab_size)

    def forward(self, images, captions):
        V, v_g = self.encoder(images)
        h = V.new_zeros(images.size(0), self.cell.hidden_size)
        c = torch.zeros_like(h)
        scores = []
        for t in range(captions.size(1)):
            x = torch.cat([self.embedding(captions[:, t]), v_g], dim=1)
            sentinel = torch.sigmoid(self.gate(torch.cat([x, h], dim=1)))
            h, c = self.cell(x, (h, c))
            context, _ = self.attention(V, h, sentinel * torch.tanh(c))
            scores.append(self.fc(context + h))
        return torch.stack(scores, dim=1)
