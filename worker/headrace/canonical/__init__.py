"""The canonical model: one ordered list of parts for every provider (design section 4)."""
