package hep

// The functions below return the position after what they skip, or ^offset (negative) of the first
// byte that cannot continue a JSON text, ^len(b) if the text stops inside.

func skipWhitespace(b []byte, at int) int {
	for at < len(b) {
		switch b[at] {
		case ' ', '\n', '\r', '\t':
			at++
		default:
			return at
		}
	}
	return at
}

// skipString takes bytes from 0x80 as they are: UTF-8 is judged where the string is read.
func skipString(b []byte, at int) int {
	if at >= len(b) || b[at] != '"' {
		return ^at
	}
	for at++; at < len(b); {
		switch c := b[at]; {
		case c == '"':
			return at + 1
		case c < 0x20:
			return ^at
		case c == '\\':
			if at = skipEscape(b, at+1); at < 0 {
				return at
			}
		default:
			at++
		}
	}
	return ^len(b)
}

func skipEscape(b []byte, at int) int {
	if at >= len(b) {
		return ^len(b)
	}
	switch b[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 1
	case 'u':
		for digit := at + 1; digit < at+5; digit++ {
			if digit >= len(b) {
				return ^len(b)
			}
			if !isHexDigit(b[digit]) {
				return ^digit
			}
		}
		return at + 5
	}
	return ^at
}

func isHexDigit(c byte) bool {
	return isDigit(c) || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// skipNumber follows RFC 8259: no leading zero, no plus.
func skipNumber(b []byte, at int) int {
	if at < len(b) && b[at] == '-' {
		at++
	}
	if at < len(b) && b[at] == '0' {
		at++
	} else if at = skipDigits(b, at); at < 0 {
		return at
	}
	if at < len(b) && b[at] == '.' {
		if at = skipDigits(b, at+1); at < 0 {
			return at
		}
	}
	if at < len(b) && (b[at] == 'e' || b[at] == 'E') {
		at++
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		at = skipDigits(b, at)
	}
	return at
}

func skipDigits(b []byte, at int) int {
	start := at
	for at < len(b) && isDigit(b[at]) {
		at++
	}
	if at == start {
		return ^at
	}
	return at
}

// skipValue keeps a stack of its own, one byte a level, so that no depth of nesting overflows.
func skipValue(b []byte, at int) int {
	var open []byte
	for {
		if at < len(b) && (b[at] == '{' || b[at] == '[') {
			container := b[at]
			inner := skipWhitespace(b, at+1)
			if inner < len(b) && b[inner] == closer(container) {
				at = inner + 1
			} else {
				open = append(open, container)
				at = inner
				if container == '{' {
					if at = skipKey(b, inner); at < 0 {
						return at
					}
				}
				continue
			}
		} else if at = skipScalar(b, at); at < 0 {
			return at
		}
		// A value ended: close what ends with it, up to the next comma.
		for {
			if len(open) == 0 {
				return at
			}
			container := open[len(open)-1]
			at = skipWhitespace(b, at)
			if at >= len(b) {
				return ^len(b)
			}
			if b[at] == ',' {
				at = skipWhitespace(b, at+1)
				if container == '{' {
					if at = skipKey(b, at); at < 0 {
						return at
					}
				}
				break
			}
			if b[at] != closer(container) {
				return ^at
			}
			at++
			open = open[:len(open)-1]
		}
	}
}

func closer(container byte) byte {
	if container == '{' {
		return '}'
	}
	return ']'
}

// skipKey returns the position of the value that belongs to the key at at.
func skipKey(b []byte, at int) int {
	at = skipString(b, at)
	if at < 0 {
		return at
	}
	colon := skipWhitespace(b, at)
	if colon >= len(b) || b[colon] != ':' {
		return ^colon
	}
	return skipWhitespace(b, colon+1)
}

func skipScalar(b []byte, at int) int {
	if at < len(b) {
		switch b[at] {
		case '"':
			return skipString(b, at)
		case 't':
			return skipWord(b, at, "true")
		case 'f':
			return skipWord(b, at, "false")
		case 'n':
			return skipWord(b, at, "null")
		}
	}
	return skipNumber(b, at)
}

func skipWord(b []byte, at int, word string) int {
	for i := range len(word) {
		if at+i >= len(b) || b[at+i] != word[i] {
			return ^(at + i)
		}
	}
	return at + len(word)
}

// jsonKind tells the kind of a valid JSON value by its first byte.
func jsonKind(first byte) string {
	switch first {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
