"""What lies on the disk: the ports that name what is needed of it, and the adapters behind them."""
