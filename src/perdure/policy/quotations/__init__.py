"""Comparison of quotations with what they quote: text, and decoded pixels and samples. Pure."""
