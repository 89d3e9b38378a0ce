"""The join graph: the plain form here, the compiled form in compiled/."""
