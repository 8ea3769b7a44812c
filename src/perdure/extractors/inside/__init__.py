"""The metadata inside documents: what their own bytes say of title, author and date."""
