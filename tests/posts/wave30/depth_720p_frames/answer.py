import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torchvision import models, transforms


class ResnetEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = models.resnet18(weights=None)
        self.num_ch_enc = [64, 64, 128, 256, 512]

    def forward(self, image):
        e = self.encoder
        x = (image - 0.45) / 0.225
        feats = [e.relu(e.bn1(e.conv1(x)))]
        feats.append(e.layer1(e.maxpool(feats[-1])))
        feats.append(e.layer2(feats[-1]))
        feats.append(e.layer3(feats[-1]))
        feats.append(e.layer4(feats[-1]))
        return feats


class UpStep(nn.Module):
    def __init__(self, cin, cskip, cout):
        super().__init__()
        self.conv0 = nn.Conv2d(cin, cout, 3, padding=1)
        self.conv1 = nn.Conv2d(cout + cskip, cout, 3, padding=1)

    def forward(self, x, skip=None):
        x = [F.interpolate(F.elu(self.conv0(x)), scale_factor=2, mode="nearest")]
        if skip is not None:
            x += [skip]
        x = torch.cat(x, 1)
        return F.elu(self.conv1(x))


class DepthDecoder(nn.Module):
    def __init__(self, num_ch_enc):
        super().__init__()
        dec = [16, 16, 32, 64, 128]
        self.ups = nn.ModuleList()
        cin = num_ch_enc[-1]
        for i in range(4, -1, -1):
            cskip = num_ch_enc[i - 1] if i > 0 else 0
            self.ups.append(UpStep(cin, cskip, dec[i]))
            cin = dec[i]
        self.dispconv = nn.Conv2d(dec[0], 1, 3, padding=1)

    def forward(self, feats):
        x = feats[-1]
        for k, up in enumerate(self.ups):
            x = up(x, feats[3 - k] if k < 4 else None)
        return torch.sigmoid(self.dispconv(x))


def disp_to_depth(disp, min_depth=0.1, max_depth=100.0):
    min_disp, max_disp = 1 / max_depth, 1 / min_depth
    return 1 / (min_disp + (max_disp - min_disp) * disp)


# dashcam frames, 720p
rng = np.random.RandomState(5)
frames = [Image.fromarray(rng.randint(0, 255, (720, 1280, 3), dtype=np.uint8)) for _ in range(2)]

torch.manual_seed(0)
encoder = ResnetEncoder()
depth_decoder = DepthDecoder(encoder.num_ch_enc)
encoder.eval()
depth_decoder.eval()

feed_width, feed_height = 1280, 704

for n, frame in enumerate(frames):
    original_width, original_height = frame.size
    input_image = frame.resize((feed_width, feed_height), Image.LANCZOS)
    input_image = transforms.ToTensor()(input_image).unsqueeze(0)

    with torch.no_grad():
        features = encoder(input_image)
        disp = depth_decoder(features)

    disp = F.interpolate(disp, (original_height, original_width), mode="bilinear", align_corners=False)
    depth = disp_to_depth(disp)
    print("frame %d: depth %s, median %.3f m" % (n, tuple(depth.shape), depth.median().item()))
