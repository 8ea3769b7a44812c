"""What every handler shares: requests, answers, errors, rights, conditions and bodies."""
