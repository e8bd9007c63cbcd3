package lualib

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

var (
	seed  = flag.Uint64("seed", 0, "seed of the generated scripts, 0 for a new one")
	count = flag.Int("scripts", 3000, "number of generated scripts")
)

// TestGeneratedScriptsReplyAsRedisDoes compares scripts that nobody wrote. A few of them
// are recorded in testdata/generated.txt, of seed 1, by -update.
func TestGeneratedScriptsReplyAsRedisDoes(t *testing.T) {
	redis, ok := dialRedis(t)
	if !ok {
		return
	}
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("seed %d", s)
	g := writer{rand.New(rand.NewPCG(s, 0))}
	for range *count {
		script := g.script()
		want := redis.eval(wrap(script))
		if got := run(t, wrap(script)); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	if !*update {
		return
	}
	g = writer{rand.New(rand.NewPCG(1, 0))}
	out := "# Generated scripts.\n"
	for range 1000 {
		script := g.script()
		out += "> " + script + "\n= " + redis.eval(wrap(script)) + "\n"
	}
	if err := os.WriteFile("testdata/generated.txt", []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

type writer struct{ *rand.Rand }

func (g writer) pick(from ...string) string { return from[g.IntN(len(from))] }

// script returns one line of Lua.
func (g writer) script() string {
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf("local s = cjson.encode(%s) return s, cjson.decode(s)", g.value(3))
	case 1:
		return fmt.Sprintf("return cjson.decode(%s)", quoteLua(g.json(3)))
	case 2:
		return fmt.Sprintf("return cjson.decode(%s)", quoteLua(g.mutate(g.json(3))))
	case 3:
		return fmt.Sprintf("local s = cmsgpack.pack(%s, %s) return s, cmsgpack.unpack(s)", g.value(3), g.value(1))
	case 4:
		return fmt.Sprintf("return cmsgpack.unpack(%s)", quoteLua(g.bytes()))
	case 5:
		return fmt.Sprintf("return struct.pack(%s, %s)", quoteLua(g.layout()), g.values(4))
	case 6:
		return fmt.Sprintf("return struct.unpack(%s, %s)", quoteLua(g.layout()), quoteLua(g.bytes()+g.bytes()+g.bytes()))
	case 7:
		return fmt.Sprintf("return string.format(%s, %s)", quoteLua(g.format()), g.values(3))
	default:
		s, p := quoteLua(g.subject()), quoteLua(g.pattern())
		switch g.IntN(3) {
		case 0:
			return fmt.Sprintf("return string.find(%s, %s, %d)", s, p, g.IntN(8)-3)
		case 1:
			return fmt.Sprintf("return string.gsub(%s, %s, %s)", s, p, quoteLua(g.pick("<%0>", "%1", "x", "%2%1", "%%", "", "%9")))
		}
		return fmt.Sprintf("local r = {} for a, b in string.gmatch(%s, %s) do r[#r + 1] = {a, b} end return r", s, p)
	}
}

// value returns an expression. Tables with other keys than 1 to n have one, because their
// order is that of Lua's hashes.
func (g writer) value(depth int) string {
	if depth > 0 && g.IntN(3) == 0 {
		switch g.IntN(3) {
		case 0:
			return fmt.Sprintf("{[%s] = %s}", g.key(), g.value(depth-1))
		default:
			items := make([]string, g.IntN(5))
			for i := range items {
				items[i] = g.value(depth - 1)
				if items[i] == "nil" {
					items[i] = "false"
				}
			}
			return "{" + strings.Join(items, ", ") + "}"
		}
	}
	switch g.IntN(5) {
	case 0:
		return quoteLua(g.bytes())
	case 1:
		return g.pick("true", "false", "nil", "cjson.null")
	default:
		return g.number()
	}
}

func (g writer) values(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = g.value(0)
	}
	return strings.Join(list, ", ")
}

func (g writer) key() string {
	if g.IntN(2) == 0 {
		return quoteLua(g.bytes())
	}
	return g.pick("2", "5", "-1", "0", "1.5", "1e15", "2^31", "true", "11")
}

func (g writer) number() string {
	switch g.IntN(5) {
	case 0:
		return strconv.Itoa(g.IntN(300) - 150)
	case 1:
		return fmt.Sprintf("2^%d%s", g.IntN(70), g.pick("", " - 1", " + 1"))
	case 2:
		return fmt.Sprintf("-2^%d%s", g.IntN(70), g.pick("", " - 1", " + 1"))
	case 3:
		return strconv.FormatFloat(g.NormFloat64()*math.Pow(10, float64(g.IntN(40)-20)), 'g', -1, 64)
	}
	return g.pick("0", "1/0", "-1/0", "0.1", "1e15", "1e14", "123456789.123456789", "5e-324", "0.5")
}

func (g writer) bytes() string {
	b := make([]byte, g.IntN(10))
	for i := range b {
		b[i] = byte(g.IntN(256))
		if g.IntN(2) == 0 {
			b[i] = g.pick("a", "\"", "\\", "/", "\x00", "\x81", "\x92", "\xc0", "\xcd", "\xd9")[0]
		}
	}
	return string(b)
}

func (g writer) json(depth int) string {
	if depth > 0 && g.IntN(2) == 0 {
		items := make([]string, g.IntN(4))
		for i := range items {
			items[i] = g.json(depth - 1)
			if depth%2 == 0 {
				items[i] = `"` + g.pick("a", "b", `\u0041`, `é`, `\n`, "") + `"` + g.pick(":", " : ") + items[i]
			}
		}
		if depth%2 == 0 {
			return "{" + strings.Join(items, g.pick(",", " , ")) + "}"
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return g.pick("1", "-1.5e3", "0.1", "1e400", "true", "false", "null", `"x"`, `"\ud83d\ude00"`,
		`"\u00e9\t"`, "12345678901234567890", "0x1p3", "inf", "-nan(12)", `""`, "1E5", "-0")
}

// mutate changes a few bytes.
func (g writer) mutate(s string) string {
	b := []byte(s)
	for range 1 + g.IntN(2) {
		if len(b) == 0 {
			break
		}
		i := g.IntN(len(b))
		switch g.IntN(3) {
		case 0:
			b = append(b[:i], b[i+1:]...)
		case 1:
			b[i] = g.pick("{", "}", "[", "]", ",", ":", `"`, `\`, "0", "e", "-", "\x00", "x", " ")[0]
		default:
			b = append(b[:i], append([]byte(g.pick(",", "]", `"`, "\\u", "1", "u", ".")), b[i:]...)...)
		}
	}
	return string(b)
}

func (g writer) layout() string {
	s := ""
	for range 1 + g.IntN(5) {
		s += g.pick("b", "B", "h", "H", "l", "L", "T", "i", "I", "f", "d", "x", "s", "c", "c0", "c2", "i3", "I5",
			"i12", ">", "<", "!", "!2", "!4", "!16", " ", "c1")
	}
	return s
}

func (g writer) format() string {
	s := ""
	for range 1 + g.IntN(3) {
		s += "%" + g.pick("", "", "-", "+", " ", "#", "0", "-0", "+0") + g.pick("", "", "5", "12") +
			g.pick("", "", ".0", ".3", ".", ".10") + g.pick("d", "i", "u", "x", "X", "o", "c", "e", "E", "f", "g", "G", "s", "q") + g.pick("", " ", "|")
	}
	return s
}

func (g writer) subject() string {
	s := ""
	for range g.IntN(12) {
		s += g.pick("a", "b", "(", ")", " ", "1", "aa", "ab", "%", ".", "\x00", "A")
	}
	return s
}

func (g writer) pattern() string {
	s := g.pick("", "", "", "^")
	for range 1 + g.IntN(5) {
		s += g.pick("a", "b", ".", "%a", "%d", "%s", "%u", "[ab]", "[^a]", "[%a1]", "[a-b]", "%b()", "%f[%a]", "%1", "%z", "()",
			"(a)", "(.)", "(%w)", "%(", "(", ")", "[", "%") + g.pick("", "", "", "*", "+", "-", "?")
	}
	return s + g.pick("", "", "", "$")
}

// quoteLua returns a string as Lua reads it, on one line.
func quoteLua(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c >= 127 || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\%03d", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
