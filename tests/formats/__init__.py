"""Folders in every stored format so far, and what has to be found in them: `v1/`, `v2/`, ...

`python -m tests.formats` makes the folder of the format that is written now; those before it are
never made again.
"""
