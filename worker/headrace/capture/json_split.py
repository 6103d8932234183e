"""Cutting a run of bytes into its top-level JSON values, without parsing them.

A lexer, not a parser: it follows strings, escapes and nesting, so a bracket inside a string is text. It is fed
slices of any size, looks at every byte once, and gives the raw bytes of each value as it closes. The elements
of a top-level array are given one by one: an array is how Gemini streams without ``alt=sse``.

Whether a value is valid inside is for the JSON reader to say. What the lexer itself cannot follow (a raw
control character in a string, a bracket of the wrong kind, text that starts no value) makes it ``broken``: it
stops there, and the bytes from the start of that value on are the ``remainder``.
"""

from __future__ import annotations

import re

#: The end marker of OpenAI streams. It is not JSON, but stands where a value would.
DONE = b"[DONE]"

_GAP = re.compile(rb"[\s,\x1e]*")  # \x1e: JSON text sequences, RFC 7464
_STRING = re.compile(rb'[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*')
#: Everything up to the next bracket: what is no string, and whole strings.
_PLAIN = re.compile(rb'[^"{}\[\]]*(?:"' + _STRING.pattern + rb'"[^"{}\[\]]*)*')
_SCALAR = re.compile(rb"[-+.0-9A-Za-z]*")
_SCALAR_VALUE = re.compile(rb"true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")

_QUOTE, _BACKSLASH, _OPEN_ARRAY, _CLOSE_ARRAY = b'"\\[]'
_CLOSER = {ord("{"): ord("}"), ord("["): ord("]")}


class JsonSplitter:
    """``feed`` slices, then ``close``; each gives the raw values that are complete.

    broken: the lexer met something that is no JSON; what is fed later only makes ``remainder`` longer.
    broken_at: where in ``remainder`` that is.
    unwrapped: a top-level array was opened. open_array: and has not been closed.
    """

    def __init__(self) -> None:
        self.broken = False
        self.broken_at = 0
        self.unwrapped = False
        self.open_array = False
        self._buffer = bytearray()
        self._position = 0
        self._start = 0
        self._closers: list[int] = []
        self._in_string = False

    @property
    def remainder(self) -> bytes:
        """The bytes that belong to no complete value."""
        return bytes(self._buffer[self._start :])

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next slice; gives the values it completes."""
        self._buffer += data
        return self._scan(ended=False)

    def close(self) -> list[bytes]:
        """No more bytes come: a number or word at the very end is complete now."""
        return self._scan(ended=True)

    def _scan(self, *, ended: bool) -> list[bytes]:
        values: list[bytes] = []
        while not self.broken:
            if self._in_string:
                moved = self._scan_string(values)
            elif self._closers:
                moved = self._scan_inside(values)
            else:
                moved = self._scan_between(values, ended=ended)
            if not moved:
                break
        if not self.broken:
            del self._buffer[: self._start]
            self._position -= self._start
            self._start = 0
        return values

    def _scan_string(self, values: list[bytes]) -> bool:
        """In a string, up to its closing quote."""
        match = _STRING.match(self._buffer, self._position)
        self._position = match.end() if match else self._position
        if self._position >= len(self._buffer):
            return False
        byte = self._buffer[self._position]
        if byte == _BACKSLASH and self._position + 1 == len(self._buffer):
            return False  # its other half has not arrived
        if byte != _QUOTE:
            return self._break()
        self._position += 1
        self._in_string = False
        if not self._closers:
            self._emit(values)
        return True

    def _scan_inside(self, values: list[bytes]) -> bool:
        """In an object or array, up to the next bracket, or a string whose end has not arrived."""
        match = _PLAIN.match(self._buffer, self._position)
        self._position = match.end() if match else self._position
        if self._position >= len(self._buffer):
            return False
        byte = self._buffer[self._position]
        if byte == _QUOTE:
            self._in_string = True
        elif byte in _CLOSER:
            self._closers.append(_CLOSER[byte])
        elif byte != self._closers.pop():
            return self._break()
        self._position += 1
        if not self._closers:
            self._emit(values)
        return True

    def _scan_between(self, values: list[bytes], *, ended: bool) -> bool:
        """Between two values, up to the start of the next."""
        match = _GAP.match(self._buffer, self._position)
        self._position = self._start = match.end() if match else self._position
        if self._position >= len(self._buffer):
            return False
        byte = self._buffer[self._position]
        if byte == _QUOTE:
            self._in_string = True
        elif byte == _OPEN_ARRAY and not self.open_array:
            return self._open_array(values, ended=ended)
        elif byte in _CLOSER:
            self._closers.append(_CLOSER[byte])
        elif byte == _CLOSE_ARRAY and self.open_array:
            self.open_array = False
            self._start += 1
        else:
            return self._scan_scalar(values, ended=ended)
        self._position += 1
        return True

    def _open_array(self, values: list[bytes], *, ended: bool) -> bool:
        head = bytes(self._buffer[self._position : self._position + len(DONE)])
        if head == DONE:
            self._position += len(DONE)
            self._emit(values)
            return True
        if not ended and DONE.startswith(head):
            return False  # may still become the end marker
        self.unwrapped = self.open_array = True
        self._position += 1
        self._start = self._position
        return True

    def _scan_scalar(self, values: list[bytes], *, ended: bool) -> bool:
        match = _SCALAR.match(self._buffer, self._position)
        end = match.end() if match else self._position
        if end == len(self._buffer) and not ended:
            return False
        if not _SCALAR_VALUE.fullmatch(self._buffer, self._position, end):
            return self._break()
        self._position = end
        self._emit(values)
        return True

    def _emit(self, values: list[bytes]) -> None:
        values.append(bytes(self._buffer[self._start : self._position]))
        self._start = self._position

    def _break(self) -> bool:
        self.broken = True
        self.broken_at = self._position - self._start
        return False
