package structures

import "strconv"

// Commands are commands of Redis in the form in which a client sends them: arrays of bulk strings, one behind the other.
type Commands struct {
	buf   []byte
	count int
}

// Command begins a command of n arguments, the first is the name; exactly n-1 calls of Bytes, String or Int
// must follow.
func (c *Commands) Command(name string, n int) {
	c.count++
	c.buf = append(c.buf, '*')
	c.buf = strconv.AppendInt(c.buf, int64(n), 10)
	c.buf = append(c.buf, "\r\n"...)
	c.String(name)
}

// Bytes appends an argument.
func (c *Commands) Bytes(b []byte) {
	c.length(len(b))
	c.buf = Append(c.buf, b)
	c.buf = append(c.buf, "\r\n"...)
}

// String appends an argument.
func (c *Commands) String(s string) {
	c.length(len(s))
	c.buf = append(c.buf, s...)
	c.buf = append(c.buf, "\r\n"...)
}

// Int appends a decimal number as an argument.
func (c *Commands) Int(n int64) {
	var digits [20]byte
	c.Bytes(strconv.AppendInt(digits[:0], n, 10))
}

func (c *Commands) length(n int) {
	c.buf = append(c.buf, '$')
	c.buf = strconv.AppendInt(c.buf, int64(n), 10)
	c.buf = append(c.buf, "\r\n"...)
}

// Add appends a command of strings.
func (c *Commands) Add(name string, args ...string) {
	c.Command(name, 1+len(args))
	for _, a := range args {
		c.String(a)
	}
}

// Of appends a command about a key.
func (c *Commands) Of(name string, key []byte, args ...[]byte) {
	c.Command(name, 2+len(args))
	c.Bytes(key)
	for _, a := range args {
		c.Bytes(a)
	}
}

// Append appends commands that another Commands has, n of them.
func (c *Commands) Append(encoded []byte, n int) {
	c.buf = Append(c.buf, encoded)
	c.count += n
}

// Count is the number of commands.
func (c *Commands) Count() int { return c.count }

// Encoded returns their bytes, which are valid until the next call.
func (c *Commands) Encoded() []byte { return c.buf }

// Reset removes all commands and keeps the memory, unless that grew past keep bytes.
func (c *Commands) Reset(keep int) {
	c.buf, c.count = c.buf[:0], 0
	if cap(c.buf) > keep {
		c.buf = nil
	}
}

// Cut removes what follows the first commands, whose bytes and number are given.
func (c *Commands) Cut(bytes, count int) { c.buf, c.count = c.buf[:bytes], count }
