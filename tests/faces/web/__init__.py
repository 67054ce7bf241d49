"""The page's server, asked over real sockets; the page itself is tested in `browser`."""
