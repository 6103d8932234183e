"""What Google's generateContent and Live have in common on the wire: content, parts, tools, usage, errors.

This is no protocol: it has no CODEC. `gemini_generate` and `gemini_live` build on it and never import each other.

Spelling. Google's JSON readers take every key in camelCase and in snake_case, and SDK users log both, often in one
body. `keys` turns known keys to camelCase once, before anything is read, and remembers which were spelled with
underscores; the writer turns them back. Every other module here sees camelCase only. Keys inside data that belongs
to the user (arguments, results, schemas, labels) are never touched.
"""
