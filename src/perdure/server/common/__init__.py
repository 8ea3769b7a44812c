"""Code that all handlers share: requests, answers, errors, rights, conditions and bodies."""
