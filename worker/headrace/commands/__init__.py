"""The commands, one module each: they read options, call the package, and print."""
