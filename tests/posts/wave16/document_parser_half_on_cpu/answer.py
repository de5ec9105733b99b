import torch
import torch.nn as nn


class PageEncoder(nn.Module):
    def __init__(self, dim=64, patch=8):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, pixel_values):
        x = self.patch_embed(pixel_values).flatten(2).transpose(1, 2)
        return self.blocks(x)


class TextDecoder(nn.Module):
    def __init__(self, vocab, dim=64, max_len=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        layer = nn.TransformerDecoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerDecoder(layer, 2)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, ids, memory):
        t = ids.shape[1]
        future = torch.ones(t, t, device=ids.device).triu(1).bool()
        x = self.tok(ids) + self.pos(torch.arange(t, device=ids.device))
        return self.lm_head(self.blocks(x, memory, tgt_mask=future))


class PageProcessor:
    """resizes a page to a square, scales it to [-1, 1] and maps tokens to text"""

    charset = ['<s>', '</s>', '<para>', '<table>'] + list('abcdefghijklmnopqrstuvwxyz ')

    def __init__(self, size=96):
        self.size = size

    def __call__(self, pages):
        out = []
        for page in pages:
            page = torch.nn.functional.interpolate(page[None], size=(self.size, self.size), mode='bilinear')
            out.append(page[0] * 2 - 1)
        return torch.stack(out)

    def decode(self, ids):
        text = ''.join(self.charset[i] for i in ids[1:])
        return text.split('</s>')[0]


class DocumentParser:
    def __init__(self):
        self.device = 'cuda' if torch.cuda.is_available() else 'cpu'
        self.processor = PageProcessor()
        self.encoder = PageEncoder()
        self.decoder = TextDecoder(len(self.processor.charset))
        for module in (self.encoder, self.decoder):
            module.eval()
            module.to(self.device)
            if self.device == 'cuda':
                module.half()

    @torch.no_grad()
    def chat(self, pages, prompt='<para>', max_new_tokens=12):
        pixel_values = self.processor(pages)
        pixel_values = pixel_values.to(self.device)
        if self.device == 'cuda':
            pixel_values = pixel_values.half()
        memory = self.encoder(pixel_values)
        start = [0, self.processor.charset.index(prompt)]
        ids = torch.tensor([start] * len(pages), device=self.device)
        for _ in range(max_new_tokens):
            logits = self.decoder(ids, memory)[:, -1]
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
        return [self.processor.decode(row.tolist()) for row in ids]


def scan_pages(n=3):
    g = torch.Generator().manual_seed(12)
    pages = []
    for i in range(n):
        page = torch.ones(3, 140 + 10 * i, 100)
        for line in range(10, 120, 12):
            width = int(torch.randint(40, 90, (1,), generator=g))
            page[:, line:line + 4, 6:6 + width] = 0.1
        pages.append(page)
    return pages


if __name__ == '__main__':
    torch.manual_seed(0)
    parser = DocumentParser()
    for i, text in enumerate(parser.chat(scan_pages())):
        print('page', i, repr(text))
