"""Pages as captures: what belongs to a page, and how a page is captured."""
