"""The base of the API: authentication, refusals, pagination; and the endpoints about people."""
