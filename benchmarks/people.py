"""Who the measured annotators are; apart from seed.py so that the load driver needs no Django."""

PASSWORD = "sixteen quick annotators"


def name_of(number: int) -> str:
    return f"bench-{number}"
