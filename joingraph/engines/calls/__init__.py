"""A batch of few rows as one compiled call: base rows of words in, consolidated view rows out."""
