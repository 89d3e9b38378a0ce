"""Keeps groups in machine code: what rows tell of, how it travels, and what groups make of it."""
