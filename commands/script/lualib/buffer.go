package lualib

import "strings"

// A buffer collects text, and asks the meter before it grows.
type buffer struct {
	c call
	b strings.Builder
}

// reserve makes room for n more bytes.
func (b *buffer) reserve(n int) {
	if free := b.b.Cap() - b.b.Len(); n <= free {
		return
	}
	grow := max(n, b.b.Cap(), 64)
	b.c.take(b.b.Len() + grow)
	b.b.Grow(grow)
}

func (b *buffer) add(s string) {
	b.reserve(len(s))
	b.b.WriteString(s)
}

func (b *buffer) addByte(x byte) {
	b.reserve(1)
	b.b.WriteByte(x)
}

func (b *buffer) text() string { return b.b.String() }
