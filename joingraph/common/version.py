"""The version of joingraph, of its wheel and of the CHANGELOG alike."""

__version__ = "0.1.0"
