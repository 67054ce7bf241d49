"""The page's server over real sockets; `browser` tests the page itself."""
