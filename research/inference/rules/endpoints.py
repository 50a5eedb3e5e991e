"""How the operator names endpoints and their keys. The settings read this before Django is ready."""

KEY_VARIABLE = "CAPTION_ENDPOINT_KEY_"
"""What the variable of an endpoint's key begins with."""

NO_KEY = "none"
"""The value of that variable where the endpoint needs no key."""


def key_variable(endpoint: str) -> str:
    return KEY_VARIABLE + endpoint.upper().replace("-", "_")
