"""Raw captures: what a gateway saw on the wire, in whatever envelope it wrote it."""
