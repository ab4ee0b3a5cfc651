package hep

import (
	"math"
	"strconv"
	"strings"
)

// exponentCap bounds an exponent: no line has enough digits to make up for one beyond it.
const exponentCap = 1_000_000_000_000_000

// parseInt64 judges a valid JSON number by its digits and never through a float, so 1.0, 1e3 and -0
// are integers; ok is false if it is none or does not fit int64.
func parseInt64(number []byte) (value int64, ok bool) {
	negative := number[0] == '-'
	if negative {
		number = number[1:]
	}
	digits, scale, ok := significantDigits(number, 19)
	if !ok {
		return 0, false
	}
	if digits == "" {
		return 0, true
	}
	if scale < 0 || len(digits)+scale > 19 {
		return 0, false
	}
	digits += strings.Repeat("0", scale)
	if negative {
		digits = "-" + digits
	}
	value, err := strconv.ParseInt(digits, 10, 64)
	return value, err == nil
}

// significantDigits splits an unsigned JSON number into its digits without zeros at either end and
// the power of ten that they are multiplied with; ok is false if there are more than most.
func significantDigits(number []byte, most int) (digits string, scale int, ok bool) {
	var kept []byte
	zeros := 0 // after the last digit kept; written only if another digit follows
	fraction := false
	at := 0
	for ; at < len(number) && number[at] != 'e' && number[at] != 'E'; at++ {
		c := number[at]
		if c == '.' {
			fraction = true
			continue
		}
		if fraction {
			scale--
		}
		if c == '0' {
			if len(kept) > 0 {
				zeros++
			}
			continue
		}
		if len(kept)+zeros >= most {
			return "", 0, false
		}
		for ; zeros > 0; zeros-- {
			kept = append(kept, '0')
		}
		kept = append(kept, c)
	}
	scale += zeros
	if at < len(number) {
		scale += parseExponent(number[at+1:])
	}
	return string(kept), scale, true
}

func parseExponent(text []byte) int {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	value := 0
	for _, digit := range text {
		value = min(value*10+int(digit-'0'), exponentCap)
	}
	if negative {
		return -value
	}
	return value
}

// parseDouble returns the nearest double of a valid JSON number, with its sign also for zero; ok is
// false if it is beyond the finite doubles.
func parseDouble(number []byte) (value float64, ok bool) {
	negative := number[0] == '-'
	unsigned := number
	if negative {
		unsigned = number[1:]
	}
	// ParseFloat misreads an exponent of more than some thousands, which many zeros may make up for:
	// it is given a number in (0, 1) and the exponent that is left.
	digits, scale, _ := significantDigits(unsigned, len(unsigned))
	text := "0"
	if digits != "" {
		text = "0." + digits + "e" + strconv.Itoa(max(-9_999, min(9_999, len(digits)+scale)))
	}
	if negative {
		text = "-" + text
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil && !math.IsInf(value, 0)
}

// appendDartDouble writes a finite double as Dart prints it: the shortest digits that give it back,
// always with a point or an exponent (0.0, -0.0, 1e-7, 100000000000000000000.0, 1e+21).
func appendDartDouble(dst []byte, value float64) []byte {
	if value == 0 {
		if math.Signbit(value) {
			return append(dst, "-0.0"...)
		}
		return append(dst, "0.0"...)
	}
	magnitude := math.Abs(value)
	if magnitude >= 1e-6 && magnitude < 1e21 {
		start := len(dst)
		dst = strconv.AppendFloat(dst, value, 'f', -1, 64)
		if !strings.Contains(string(dst[start:]), ".") {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, value, 'e', -1, 64)
	// Go pads the exponent to two digits.
	text := string(dst[start:])
	if at := strings.IndexByte(text, 'e'); at+3 < len(text) && text[at+2] == '0' {
		dst = append(append(dst[:start], text[:at+2]...), text[at+3:]...)
	}
	return dst
}
