package hep

import (
	"bytes"
	"unicode/utf8"
)

const replacement = '\uFFFD'

// decodeString returns the text between the quotes of a valid JSON string, well-formed: ill-formed
// UTF-8 and lone surrogate escapes are U+FFFD, and lossy says whether there were any.
func decodeString(inside []byte) (text string, lossy bool) {
	if isPlain(inside) {
		return string(inside), false
	}
	out := make([]byte, 0, len(inside))
	for at := 0; at < len(inside); {
		c := inside[at]
		switch {
		case c == '\\':
			unit := escapedUnit(inside, at)
			at += escapeLength(inside, at)
			switch {
			case isHighSurrogate(unit) && isLowSurrogate(escapedUnit(inside, at)):
				low := escapedUnit(inside, at)
				at += escapeLength(inside, at)
				out = utf8.AppendRune(out, 0x10000+(unit-0xD800)<<10+(low-0xDC00))
			case isHighSurrogate(unit) || isLowSurrogate(unit):
				lossy = true
				out = utf8.AppendRune(out, replacement)
			default:
				out = utf8.AppendRune(out, unit)
			}
		case c < utf8.RuneSelf:
			out = append(out, c)
			at++
		default:
			length, ok := utf8Sequence(inside[at:])
			if ok {
				out = append(out, inside[at:at+length]...)
			} else {
				lossy = true
				out = utf8.AppendRune(out, replacement)
			}
			at += length
		}
	}
	return string(out), lossy
}

// isPlain reports whether the text between the quotes stands for itself.
func isPlain(b []byte) bool { return bytes.IndexByte(b, '\\') < 0 && utf8.Valid(b) }

// utf8Sequence returns the length of the sequence at the start of b, whose first byte is 0x80 or
// above. If it is ill-formed, the length is that of its maximal subpart, the bytes that one U+FFFD
// stands for (https://encoding.spec.whatwg.org/#utf-8-decoder).
func utf8Sequence(b []byte) (length int, ok bool) {
	lead := b[0]
	if lead < 0xC2 || lead > 0xF4 {
		return 1, false
	}
	length = 4
	switch {
	case lead < 0xE0:
		length = 2
	case lead < 0xF0:
		length = 3
	}
	// The second byte alone shuts out overlong forms, surrogates and what lies above U+10FFFF.
	low, high := byte(0x80), byte(0xBF)
	switch lead {
	case 0xE0:
		low = 0xA0
	case 0xF0:
		low = 0x90
	case 0xED:
		high = 0x9F
	case 0xF4:
		high = 0x8F
	}
	if len(b) < 2 || b[1] < low || b[1] > high {
		return 1, false
	}
	for i := 2; i < length; i++ {
		if i >= len(b) || b[i] < 0x80 || b[i] > 0xBF {
			return i, false
		}
	}
	return length, true
}

// escapedUnit returns the UTF-16 unit of the escape at at, -1 if there is none.
func escapedUnit(b []byte, at int) rune {
	if at+1 >= len(b) || b[at] != '\\' {
		return -1
	}
	switch b[at+1] {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		unit := rune(0)
		for _, digit := range b[at+2 : at+6] {
			unit = unit<<4 | hexValue(digit)
		}
		return unit
	}
	return rune(b[at+1])
}

func escapeLength(b []byte, at int) int {
	if b[at+1] == 'u' {
		return 6
	}
	return 2
}

func hexValue(digit byte) rune {
	if digit <= '9' {
		return rune(digit - '0')
	}
	return rune(digit&0x1F) + 9
}

func isHighSurrogate(unit rune) bool { return unit >= 0xD800 && unit <= 0xDBFF }

func isLowSurrogate(unit rune) bool { return unit >= 0xDC00 && unit <= 0xDFFF }
