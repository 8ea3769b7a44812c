"""Web archives: which there are, what lies in one's own, and how a capture is found in either."""
