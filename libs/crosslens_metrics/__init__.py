"""Figures from numbers alone: needs numpy and scipy, never Django, and can be used by itself from a notebook.

What has no value for some data raises `UndefinedFigureError`, which says why; nothing here returns NaN.
"""

__version__ = "0.2.0"
