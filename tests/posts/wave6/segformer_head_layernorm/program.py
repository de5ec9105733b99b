import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

norm_cfg = dict(type="LN", requires_grad=True)
NORMS = {"BN": nn.BatchNorm2d, "LN": nn.LayerNorm, "IN": nn.InstanceNorm2d}


class ConvModule(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, padding=0, norm_cfg=None):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding, bias=norm_cfg is None)
        self.norm = None
        if norm_cfg is not None:
            self.norm = NORMS[norm_cfg["type"]](out_channels)
            for param in self.norm.parameters():
                param.requires_grad = norm_cfg["requires_grad"]
        self.activate = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x)
        return self.activate(x)


class MixVisionStages(nn.Module):
    def __init__(self, dims=(16, 24, 32, 48)):
        super().__init__()
        channels = (3,) + tuple(dims)
        strides = (4, 2, 2, 2)
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(channels[i], channels[i + 1], strides[i] + 1, stride=strides[i], padding=strides[i] // 2), nn.GELU())
            for i in range(4)
        )

    def forward(self, x):
        outs = []
        for stage in self.stages:
            x = stage(x)
            outs.append(x)
        return outs


class SegformerHead(nn.Module):
    def __init__(self, in_channels, channels, num_classes, norm_cfg):
        super().__init__()
        self.convs = nn.ModuleList(ConvModule(c, channels, 1, norm_cfg=norm_cfg) for c in in_channels)
        self.fusion_conv = ConvModule(channels * len(in_channels), channels, 1, norm_cfg=norm_cfg)
        self.dropout = nn.Dropout2d(0.1)
        self.conv_seg = nn.Conv2d(channels, num_classes, 1)

    def forward(self, inputs):
        size = inputs[0].shape[2:]
        outs = [F.interpolate(conv(x), size=size, mode="bilinear", align_corners=False) for conv, x in zip(self.convs, inputs)]
        return self.conv_seg(self.dropout(self.fusion_conv(torch.cat(outs, dim=1))))


class Segmentor(nn.Module):
    def __init__(self, num_classes=5):
        super().__init__()
        self.backbone = MixVisionStages()
        self.decode_head = SegformerHead((16, 24, 32, 48), 32, num_classes, norm_cfg)

    def forward(self, img):
        logits = self.decode_head(self.backbone(img))
        return F.interpolate(logits, size=img.shape[2:], mode="bilinear", align_corners=False)


model = Segmentor()
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-5, weight_decay=0.01)
for step in range(3):
    img, seg = torch.rand(4, 3, 64, 64), torch.randint(0, 5, (4, 64, 64))
    loss = F.cross_entropy(model(img), seg)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "decode.loss_ce", loss.item())
