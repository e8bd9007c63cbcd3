package rdb

import (
	"encoding/binary"
	"math"

	"github.com/vigildb/vigil/structures/json"
)

// Items of CBOR (RFC 8949), by the upper three bits of their first byte.
const (
	cborUnsigned = 0
	cborNegative = 1
	cborBytes    = 2
	cborText     = 3
	cborArray    = 4
	cborMap      = 5
	cborTag      = 6
	cborOther    = 7

	cborIndefinite = 31 // in place of a length
	cborBreak      = 0xff
	cborDepth      = 128
)

// numbers are arrays of numbers as bytes, little endian: tags of RFC 8746, and one of RedisJSON.
var numbers = map[uint64]struct {
	width int
	put   func(b *json.Builder, bits uint64)
}{
	64:    {1, func(b *json.Builder, bits uint64) { b.Uint(bits) }},
	69:    {2, func(b *json.Builder, bits uint64) { b.Uint(bits) }},
	70:    {4, func(b *json.Builder, bits uint64) { b.Uint(bits) }},
	71:    {8, func(b *json.Builder, bits uint64) { b.Uint(bits) }},
	72:    {1, func(b *json.Builder, bits uint64) { b.Int(int64(int8(bits))) }},
	77:    {2, func(b *json.Builder, bits uint64) { b.Int(int64(int16(bits))) }},
	78:    {4, func(b *json.Builder, bits uint64) { b.Int(int64(int32(bits))) }},
	79:    {8, func(b *json.Builder, bits uint64) { b.Int(int64(bits)) }},
	84:    {2, func(b *json.Builder, bits uint64) { number(b, half(bits)) }},
	85:    {4, func(b *json.Builder, bits uint64) { number(b, float64(math.Float32frombits(uint32(bits)))) }},
	86:    {8, func(b *json.Builder, bits uint64) { number(b, math.Float64frombits(bits)) }},
	65536: {2, func(b *json.Builder, bits uint64) { number(b, float64(math.Float32frombits(uint32(bits)<<16))) }},
}

func half(bits uint64) float64 { return json.FP16.Value(uint32(bits)) }

// cbor reads a document that is one item of CBOR.
func (d *decoder) cbor(item []byte) []byte {
	if d.err != nil {
		return nil
	}
	c := cborReader{d: &decoder{reader: reader{b: item}}, b: json.NewBuilder(nil)}
	c.item()
	if err := c.d.done(); err != nil {
		d.fail("CBOR of a JSON document: %v", err)
	}
	return c.b.Bytes()
}

type cborReader struct {
	d *decoder
	b *json.Builder
}

// head reads what an item is, and its number: bits of a float, a length, a value.
func (c *cborReader) head() (major byte, n uint64, indefinite bool, short byte) {
	first := c.d.byte()
	major, short = first>>5, first&31
	switch {
	case short < 24:
		n = uint64(short)
	case short < 28:
		for _, x := range c.d.take(1 << (short - 24)) {
			n = n<<8 | uint64(x)
		}
	case short == cborIndefinite && major >= cborBytes && major <= cborMap:
		indefinite = true
	default:
		c.d.fail("item %#x", first)
	}
	return major, n, indefinite, short
}

func (c *cborReader) item() {
	major, n, indefinite, short := c.head()
	if c.d.err != nil {
		return
	}
	switch major {
	case cborUnsigned:
		c.b.Uint(n)
	case cborNegative:
		if n > math.MaxInt64 {
			c.d.fail("integer below -2^63")
			return
		}
		c.b.Int(-1 - int64(n))
	case cborText:
		c.b.String(c.text(n, indefinite))
	case cborArray, cborMap:
		c.container(n, indefinite, major == cborMap)
	case cborTag:
		c.numbers(n)
	case cborOther:
		c.other(n, short)
	default:
		c.d.fail("item of type %d", major)
	}
}

// other reads what is neither an integer nor long.
func (c *cborReader) other(n uint64, short byte) {
	switch short {
	case 20, 21:
		c.b.Bool(short == 21)
	case 22, 23: // null, undefined
		c.b.Null()
	case 25:
		number(c.b, half(n))
	case 26:
		number(c.b, float64(math.Float32frombits(uint32(n))))
	case 27:
		number(c.b, math.Float64frombits(n))
	default:
		c.d.fail("simple value %d", n)
	}
}

// ends takes the end of something of indefinite length, if it is next.
func (c *cborReader) ends() bool {
	if len(c.d.b) == 0 || c.d.b[0] != cborBreak {
		return false
	}
	c.d.byte()
	return true
}

// text reads a string, which can be in pieces.
func (c *cborReader) text(n uint64, indefinite bool) []byte {
	if !indefinite {
		return c.d.utf8(c.d.take(n))
	}
	s := []byte{}
	for c.d.err == nil && !c.ends() {
		major, n, within, _ := c.head()
		if major != cborText || within {
			c.d.fail("item of type %d in a text", major)
			break
		}
		s = append(s, c.d.utf8(c.d.take(n))...)
	}
	return s
}

func (c *cborReader) container(n uint64, indefinite, object bool) {
	if c.b.Depth() == cborDepth {
		c.d.fail("more than %d levels", cborDepth)
		return
	}
	c.b.Begin(object)
	for ; c.d.err == nil; n-- {
		if indefinite && c.ends() || !indefinite && n == 0 {
			break
		}
		if object {
			c.name()
		}
		if c.d.err == nil {
			c.item()
		}
	}
	if c.d.err == nil {
		c.b.End()
	}
}

func (c *cborReader) name() {
	major, n, indefinite, _ := c.head()
	if major != cborText {
		c.d.fail("name of type %d", major)
	}
	name := c.text(n, indefinite)
	if len(name) > json.MaxName {
		c.d.fail("name of %d bytes", len(name))
	}
	if c.d.err == nil {
		c.b.Name(name)
	}
}

// numbers reads an array of numbers that are bytes.
func (c *cborReader) numbers(tag uint64) {
	form, known := numbers[tag]
	major, n, indefinite, _ := c.head()
	if !known || major != cborBytes || indefinite || n%uint64(max(form.width, 1)) != 0 {
		c.d.fail("tag %d of %d bytes", tag, n)
		return
	}
	if c.b.Depth() == cborDepth {
		c.d.fail("more than %d levels", cborDepth)
		return
	}
	b := c.d.take(n)
	c.b.Begin(false)
	var room [8]byte
	for ; len(b) > 0; b = b[form.width:] {
		clear(room[:])
		copy(room[:], b[:form.width])
		form.put(c.b, binary.LittleEndian.Uint64(room[:]))
	}
	c.b.End()
}
