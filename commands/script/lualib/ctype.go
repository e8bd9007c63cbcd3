package lualib

// The classes of C's ctype.h in the locale "C", which ignores bytes above 127.

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
func isLower(b byte) bool { return 'a' <= b && b <= 'z' }
func isUpper(b byte) bool { return 'A' <= b && b <= 'Z' }
func isAlpha(b byte) bool { return isLower(b) || isUpper(b) }
func isAlnum(b byte) bool { return isAlpha(b) || isDigit(b) }
func isHex(b byte) bool   { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }
func isCntrl(b byte) bool { return b < ' ' || b == 127 }
func isPunct(b byte) bool { return ' ' < b && b < 127 && !isAlnum(b) }
func isSpace(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

func toLower(b byte) byte {
	if isUpper(b) {
		return b + 'a' - 'A'
	}
	return b
}

func toUpper(b byte) byte {
	if isLower(b) {
		return b - ('a' - 'A')
	}
	return b
}
