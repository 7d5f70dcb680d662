# SPDX-License-Identifier: Apache-2.0
"""PNG pictures, decoded with zlib alone: 8 bits a channel, with or without alpha, not interlaced;
what a browser's screenshots are."""
import struct
import zlib


class Picture:
    """rows: one bytearray a line, `channels` bytes a pixel."""

    def __init__(self, data):
        if data[:8] != b"\x89PNG\r\n\x1a\n":
            raise ValueError("not a PNG")
        at, packed, header = 8, b"", None
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at : at + 8])
            body = data[at + 8 : at + 8 + length]
            if struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] != zlib.crc32(
                kind + body
            ):
                raise ValueError("chunk %s is damaged" % kind.decode())
            at += 12 + length
            if kind == b"IHDR":
                header = struct.unpack(">IIBBBBB", body)
            elif kind == b"IDAT":
                packed += body
        self.width, self.height, depth, colour, _, _, interlaced = header
        if depth != 8 or colour not in (2, 6) or interlaced:
            raise ValueError("unexpected kind of PNG: %r" % (header,))
        self.channels = 3 if colour == 2 else 4
        self.rows = list(self._unfilter(zlib.decompress(packed)))

    def _unfilter(self, raw):
        step, stride = self.channels, self.width * self.channels
        before = bytearray(stride)
        for y in range(self.height):
            at = y * (stride + 1)
            how, line = raw[at], bytearray(raw[at + 1:at + 1 + stride])
            if how == 1:
                for i in range(step, stride):
                    line[i] = (line[i] + line[i - step]) & 255
            elif how == 2:
                line = bytearray((a + b) & 255 for a, b in zip(line, before))
            elif how == 3:
                for i in range(stride):
                    line[i] = (
                        line[i] + (((line[i - step] if i >= step else 0) + before[i]) >> 1)
                    ) & 255
            elif how == 4:
                for i in range(stride):
                    left, up, corner = (
                        (line[i - step], before[i], before[i - step])
                        if i >= step
                        else (0, before[i], 0)
                    )
                    guess = left + up - corner
                    a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
                    line[i] = (
                        line[i] + (left if a <= b and a <= c else up if b <= c else corner)
                    ) & 255
            elif how:
                raise ValueError("unknown filter %d" % how)
            before = line
            yield line

    def at(self, x, y):
        """(red, green, blue) of a pixel."""
        x, y = int(x), int(y)
        return tuple(self.rows[y][x * self.channels:x * self.channels + 3])

    def colours(self):
        """How many different colours there are: an empty page has one."""
        step = self.channels
        return len({bytes(row[i:i + 3]) for row in self.rows for i in range(0, len(row), step)})

    def differs(self, other):
        """None if the pixels are the same, else what differs first."""
        if (self.width, self.height) != (other.width, other.height):
            return "%d × %d against %d × %d pixels" % (
                self.width,
                self.height,
                other.width,
                other.height,
            )
        for y in range(self.height):
            if self.rows[y] != other.rows[y]:
                x = next(x for x in range(self.width) if self.at(x, y) != other.at(x, y))
                count = sum(
                    1
                    for yy in range(self.height)
                    for xx in range(self.width)
                    if self.at(xx, yy) != other.at(xx, yy)
                )
                return "%d pixels, the first at %d, %d: %r against %r" % (
                    count,
                    x,
                    y,
                    self.at(x, y),
                    other.at(x, y),
                )
        return None
