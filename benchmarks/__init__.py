"""What is measured, and with what: rivals, results, figures. docs/benchmarks.md tells how."""
