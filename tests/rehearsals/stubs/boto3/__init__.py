"""Stands for boto3: there is no store to reach."""


def client(name, **options):
    raise ConnectionError(f"the stand-in for boto3 reaches no {name}")
