"""Stands for requests: an address is a file of that name in the working folder."""

from pathlib import Path


class Response:
    def __init__(self, file):
        self.raw = file
        self.status_code = 200

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.raw.close()


def get(url, stream=False, **options):
    path = Path(url.rsplit("/", 1)[-1])
    if not path.exists():
        raise ConnectionError(f"the stand-in for requests has no {path}")
    return Response(path.open("rb"))
