"""Typed expressions over columns: their types, values as words, order, text, evaluation."""
