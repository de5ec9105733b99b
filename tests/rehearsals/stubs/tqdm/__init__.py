"""Stands for tqdm: iterates and draws nothing."""


class tqdm:
    def __init__(self, iterable=None, total=None, **options):
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self):
        yield from self.iterable

    def __len__(self):
        return self.total if self.iterable is None else len(self.iterable)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def update(self, n=1):
        self.n += n

    def set_postfix(self, *parts, **more):
        return None

    def set_description(self, text=None, refresh=True):
        return None

    def close(self):
        return None

    @staticmethod
    def write(text, **options):
        print(text)


def trange(*limits, **options):
    return tqdm(range(*limits), **options)
