package json

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vigildb/vigil/structures/structurestest"
)

func TestErrorsSayWhereATextEndsToBeJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "EOF while parsing a value at line 1 column 0",
		" \n ":                 "EOF while parsing a value at line 2 column 1",
		"foo":                  "expected ident at line 1 column 2",
		"tru":                  "EOF while parsing a value at line 1 column 3",
		"nulx":                 "expected ident at line 1 column 4",
		"NaN":                  "expected value at line 1 column 1",
		"[":                    "EOF while parsing a list at line 1 column 1",
		"[1,":                  "EOF while parsing a value at line 1 column 3",
		"[1,]":                 "trailing comma at line 1 column 4",
		"[1\n,\n2 3]":          "expected `,` or `]` at line 3 column 3",
		"[,1]":                 "expected value at line 1 column 2",
		"{":                    "EOF while parsing an object at line 1 column 1",
		`{"a"`:                 "EOF while parsing an object at line 1 column 4",
		`{"a":`:                "EOF while parsing a value at line 1 column 5",
		`{"a":1`:               "EOF while parsing an object at line 1 column 6",
		`{"a":1 "b"`:           "expected `,` or `}` at line 1 column 8",
		`{"a":1,`:              "EOF while parsing a value at line 1 column 7",
		`{"a":1,}`:             "trailing comma at line 1 column 8",
		`{,}`:                  "key must be a string at line 1 column 2",
		`{"a" 1}`:              "expected `:` at line 1 column 6",
		`"a`:                   "EOF while parsing a string at line 1 column 2",
		`"a\`:                  "EOF while parsing a string at line 1 column 3",
		"\"a\tb\"":             `control character (\u0000-\u001F) found while parsing a string at line 1 column 3`,
		"\"a\nb\"":             `control character (\u0000-\u001F) found while parsing a string at line 2 column 0`,
		`"\x"`:                 "invalid escape at line 1 column 3",
		`"\u12g4"`:             "invalid escape at line 1 column 7",
		`"\u12`:                "EOF while parsing a string at line 1 column 5",
		`"\ud800"`:             "unexpected end of hex escape at line 1 column 8",
		`"\ud800\n"`:           "unexpected end of hex escape at line 1 column 9",
		`"\udc00"`:             "lone leading surrogate in hex escape at line 1 column 7",
		`"\ud800\ud800"`:       "lone leading surrogate in hex escape at line 1 column 13",
		"-":                    "EOF while parsing a value at line 1 column 1",
		"-x":                   "invalid number at line 1 column 2",
		"01":                   "invalid number at line 1 column 2",
		"-01":                  "invalid number at line 1 column 3",
		"1.":                   "EOF while parsing a value at line 1 column 2",
		"1.x":                  "invalid number at line 1 column 3",
		"1e":                   "EOF while parsing a value at line 1 column 2",
		"1e+":                  "EOF while parsing a value at line 1 column 3",
		"1ex":                  "invalid number at line 1 column 3",
		"1e309":                "number out of range at line 1 column 5",
		"[1,-1e400]":           "number out of range at line 1 column 9",
		"1e99999999999999":     "number out of range at line 1 column 12",
		"1 2":                  "trailing characters at line 1 column 3",
		"\ufeff1":              "expected value at line 1 column 1",
		"1//":                  "trailing characters at line 1 column 2",
		`{"a":{"b":[1,{"c"}]}`: "expected `:` at line 1 column 18",
	} {
		if v, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %x, %v, want %s", text, v, err, want)
		}
	}
}

func TestValuesArePrintedAsRedisJSONPrintsThem(t *testing.T) {
	for text, want := range map[string]string{
		" [ 1 , 2 ] ":                  "[1,2]",
		`{"a":1,"b":2,"a":{"c":[]}}`:   `{"a":{"c":[]},"b":2}`,
		`{"":1,"":2}`:                  `{"":2}`,
		"-0":                           "-0.0",
		"-0.0e5":                       "-0.0",
		"0e99999999999":                "0.0",
		"1e-99999999999":               "0.0",
		"1e-400":                       "0.0",
		"1E+2":                         "100.0",
		"1e15":                         "1000000000000000.0",
		"1e16":                         "1e16",
		"12345678901234567.5":          "1.2345678901234568e16",
		"0.00001":                      "0.00001",
		"0.000123":                     "0.000123",
		"1e-6":                         "1e-6",
		"-1.5e-7":                      "-1.5e-7",
		"1.5e300":                      "1.5e300",
		"5e-324":                       "5e-324",
		"123.456":                      "123.456",
		"18446744073709551615":         "18446744073709551615",
		"18446744073709551616":         "1.8446744073709552e19",
		"-9223372036854775808":         "-9223372036854775808",
		"-9223372036854775809":         "-9.223372036854776e18",
		`"\u00e9\u0000\/\ud83d\ude00"`: "\"é\\u0000/😀\"",
		"\"\u2028\x7f\"":               "\"\u2028\x7f\"",
	} {
		v, err := Parse([]byte(text))
		if err != nil || string(AppendText(nil, Of(v))) != want {
			t.Errorf("%s: got %s, %v, want %s", text, AppendText(nil, Of(v)), err, want)
		}
	}
}

func TestContainersNestUpToALimit(t *testing.T) {
	if _, err := Parse([]byte(strings.Repeat("[", 127) + "1" + strings.Repeat("]", 127))); err != nil {
		t.Error(err)
	}
	for _, text := range []string{strings.Repeat("[", 128) + strings.Repeat("]", 128), strings.Repeat("[", 200_000)} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != "recursion limit exceeded at line 1 column 128" {
			t.Errorf("got %v", err)
		}
	}
}

// Numbers of any length and containers of any size take a time that grows with their length alone.
func TestLongTextsAreParsedInOnePass(t *testing.T) {
	nested := strings.Repeat(`{"a":[`, 63) + strings.Repeat("1,", 2<<20) + "1" + strings.Repeat("]}", 63)
	for name, text := range map[string]string{
		"digits": strings.Repeat("7", 1_000_000), "fraction": "0." + strings.Repeat("3", 1_000_000),
		"exponent": "1e" + strings.Repeat("0", 1_000_000), "nested": nested,
		"names": "{" + strings.Repeat(`"a":1,`, 500_000) + `"a":2}`,
	} {
		start := time.Now()
		_, err := Parse([]byte(text))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s of %d bytes took %v, %v", name, len(text), took, err)
		}
	}
}

// plain is a value as encoding/json gives it.
func plain(v Value) any {
	switch v.Type() {
	case Null:
		return nil
	case Boolean:
		return v.Bool()
	case String:
		return string(v.Text(nil))
	case Array:
		list := []any{}
		v.Each(func(_ []byte, _ int, v Value) bool { list = append(list, plain(v)); return true })
		return list
	case Object:
		named := map[string]any{}
		v.Each(func(name []byte, _ int, v Value) bool { named[string(name)] = plain(v); return true })
		return named
	}
	f, _ := v.Float()
	return f
}

// FuzzParse compares with encoding/json, which takes bad UTF-8 and lone surrogates, numbers that are
// too large it does not, and any depth.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,"x\u00e9",null,true],"a":-0}`, "[[],{}]", `"\ud83d\ude00"`, "1e400", " 1 ", "[1,]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		v, err := Parse(text)
		var want any
		oracle := stdjson.Unmarshal(text, &want)
		if err == nil && oracle != nil && !strings.Contains(oracle.Error(), "cannot unmarshal number") {
			t.Fatalf("%q was taken, which is not JSON: %v", text, oracle)
		}
		if err != nil {
			what := err.(*ParseError).What
			if oracle == nil && !strings.Contains(what, "surrogate") && !strings.Contains(what, "hex escape") && !strings.Contains(what, "recursion") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if err := checkValues(v, false, 1, MaxDepth, nil); err != nil {
			t.Fatal(err)
		}
		if got := plain(Of(v)); oracle == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %v, want %v", text, got, want)
		}
		printed := AppendText(nil, Of(v))
		again, err := Parse(printed)
		if err != nil || string(again) != string(v) {
			t.Fatalf("%q is printed as %q and read again as another value: %v", text, printed, err)
		}
	})
}

// FuzzDecode hands anything to those who read what a disk or a journal has.
func FuzzDecode(f *testing.F) {
	keys := structurestest.Keys(1)
	for _, text := range []string{"1", `{"a":[1,"x"]}`, `["` + strings.Repeat("x", 20_000) + `"]`} {
		d := New(keys)
		v, _ := Parse([]byte(text))
		d.SetRoot(nil, v)
		var pages []byte
		d.Pages(true, func(id uint64, page []byte) {
			pages = append(append(pages, 0, 0, 0, 0, 0, 0, 0, byte(id), byte(len(page))), page...)
		})
		f.Add(d.AppendHead(nil), pages, []byte{opPut, 2, 0, 1, 1})
	}
	f.Fuzz(func(t *testing.T, head, pages, ops []byte) {
		d, err := Decode(head, keys)
		if err != nil {
			return
		}
		structurestest.FuzzPages(d, pages)
		if d.Complete() != nil || d.Empty() {
			return
		}
		AppendText(nil, d.Root())
		for range 4 {
			if structurestest.Apply(d, ops) != nil {
				break
			}
			checkDocument(t, d)
		}
		if !utf8.Valid(AppendText(nil, d.Root())) && len(d.chains) == 0 {
			t.Fatal("a document has strings that are not UTF-8")
		}
	})
}

func TestFloatsRoundToTheNearestOfTheirKind(t *testing.T) {
	for _, c := range []struct {
		f          Float
		text, want string
	}{
		{FP16, "0.1", "0.1"}, {FP16, "65504", "65500.0"}, {FP16, "65519.9", "65500.0"}, {FP16, "65520", ""}, {FP16, "6e-8", "6e-8"}, {FP16, "1e-9", "0.0"},
		{FP16, "2049", "2048.0"}, {FP16, "2051", "2052.0"}, {FP16, "3.14159", "3.14"}, {FP16, "-0.0", "-0.0"},
		{BF16, "3.14159", "3.14"}, {BF16, "1e38", "1e38"}, {BF16, "3.4e38", ""}, {BF16, "257", "256.0"},
		{FP32, "0.1", "0.1"}, {FP32, "16777217", "16777216.0"}, {FP32, "3.5e38", ""}, {FP32, "1e-45", "1e-45"}, {FP32, "1e-50", "0.0"},
		{FP64, "1", "1.0"}, {FP64, "18446744073709551615", "1.8446744073709552e19"},
	} {
		var p Parser
		v, _, err := p.Parse(nil, []byte("["+c.text+"]"), c.f)
		if c.want == "" {
			if want := fmt.Sprintf("value out of range for %s at line 1 column %d", floatShapes[c.f].name, len(c.text)+2); err == nil || err.Error() != want {
				t.Errorf("%s as %s: got %v", c.text, floatShapes[c.f].name, err)
			}
			continue
		}
		if err != nil || string(AppendText(nil, Of(v))) != "["+c.want+"]" {
			t.Errorf("%s as %s: got %s, %v, want %s", c.text, floatShapes[c.f].name, AppendText(nil, Of(v)), err, c.want)
		}
	}
	var p Parser
	v, _, err := p.Parse(nil, []byte(`{"a":[1,"x"],"b":[[1],[]],"c":1}`), FP32)
	if got := string(AppendText(nil, Of(v))); err != nil || got != `{"a":[1,"x"],"b":[[1.0],[]],"c":1}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// Every FP16 and BF16 that is finite is what its digits are read as, and FP32 what strconv says.
func TestEveryFloatOfTwoBytesIsPrintedSoThatItIsReadAgain(t *testing.T) {
	for _, f := range []Float{FP16, BF16} {
		for bits := range uint32(1 << 16) {
			v := f.Value(bits)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			if got := f.bits(v); got != bits || f.round(v) != v {
				t.Fatalf("kind %d: %#x is %v, which is %#x", f, bits, v, got)
			}
			if bits%7 != 0 {
				continue
			}
			again, err := strconv.ParseFloat(string(f.appendText(nil, v)), 64)
			if err != nil || f.round(again) != v {
				t.Fatalf("kind %d: %v is printed as %s", f, v, f.appendText(nil, v))
			}
		}
	}
	r := structurestest.Seeded(t)
	for range 100_000 {
		v := math.Float64frombits(r.Uint64())
		if math.IsNaN(v) {
			continue
		}
		if got := FP32.round(v); got != float64(float32(v)) {
			t.Fatalf("%v as FP32: got %v, want %v", v, got, float32(v))
		}
	}
}

func TestIntegersAreExactOrOverflow(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 100_000 {
		a, b := int64(r.Uint64())>>r.IntN(64), int64(r.Uint64())>>r.IntN(64)
		for _, op := range []Operator{Add, Multiply, Power} {
			if op == Power {
				b &= 0xff
			}
			got, ok := combineInts(op, a, b)
			if want, fits := exactly(op, a, b); ok != fits || ok && got != want {
				t.Fatalf("%d %d %d: got %d, %v, want %d, %v", a, op, b, got, ok, want, fits)
			}
		}
	}
	if _, ok := combineInts(Power, 2, -1); ok {
		t.Error("2 to the power of -1 is no integer")
	}
	if n, ok := combineInts(Power, -1, math.MaxUint32); !ok || n != -1 {
		t.Errorf("got %d, %v", n, ok)
	}
}

// exactly is combineInts in floats that are wide enough to tell whether 64 bits are.
func exactly(op Operator, a, b int64) (int64, bool) {
	n := a
	switch op {
	case Add:
		n = a + b
		f := float64(a) + float64(b)
		return n, math.Abs(f-float64(n)) < math.MaxInt64
	case Multiply:
		n = a * b
		return n, a == 0 || n/a == b && !(a == -1 && b == math.MinInt64)
	}
	n = 1
	for range b {
		next, ok := exactly(Multiply, n, a)
		if !ok {
			return 0, false
		}
		n = next
	}
	return n, true
}

func TestResultsKeepTheKindOfANumber(t *testing.T) {
	one := func(text string, f Float) Value {
		var p Parser
		v, _, err := p.Parse(nil, []byte("["+text+"]"), f)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := Of(v).Element(0)
		return e
	}
	for _, c := range []struct {
		op        Operator
		a         string
		f         Float
		b, result string
	}{
		{Add, "1", NoFloat, "2", "3"}, {Add, "1", NoFloat, "2.0", "3.0"}, {Add, "18446744073709551615", NoFloat, "1", "1.8446744073709552e19"},
		{Multiply, "0.1", FP32, "3", "0.3"}, {Add, "65504", FP16, "100", ""}, {Power, "4", NoFloat, "0.5", "2.0"}, {Power, "-8", NoFloat, "0.5", ""},
		{Multiply, "1e308", NoFloat, "100", ""}, {Power, "10", NoFloat, "19", ""}, {Power, "10", NoFloat, "18", "1000000000000000000"},
	} {
		got, err := Combine(nil, c.op, one(c.a, c.f), one(c.b, NoFloat))
		if c.result == "" {
			if err == nil {
				t.Errorf("%s and %s: got %s", c.a, c.b, AppendText(nil, Of(got)))
			}
			continue
		}
		if err != nil || string(AppendText(nil, Of(got))) != c.result {
			t.Errorf("%s and %s: got %s, %v, want %s", c.a, c.b, AppendText(nil, Of(got)), err, c.result)
		}
	}
}

func TestRepeatedNamesKeepTheFirstPlaceAndTheLastValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := &node{kind: '{'}
		var b strings.Builder
		b.WriteByte('{')
		for i := range 1 + r.IntN(3000) {
			if i > 0 {
				b.WriteByte(',')
			}
			name, value := fmt.Sprint("n", r.IntN(2000)), &node{text: fmt.Sprint(i)}
			fmt.Fprintf(&b, "%q:%s", name, value.text)
			n.put(name, value)
		}
		b.WriteByte('}')
		d := New(structurestest.Keys(1))
		d.SetRoot(nil, encode(t, b.String()))
		checkDocument(t, d)
		if got := string(AppendText(nil, d.Root())); got != n.String() {
			t.Fatalf("got\n%.200s, want\n%.200s", got, n)
		}
	}
}

// Numbers of few digits are written without looking for the fewest: they are those of strconv.
func TestDoublesHaveTheFewestDigits(t *testing.T) {
	r := structurestest.Seeded(t)
	for range 200_000 {
		v := float64(r.Int64N(1<<uint(1+r.IntN(62)))-r.Int64N(1<<uint(1+r.IntN(40)))) / []float64{1, 8, 10, 100, 1000, 1024, 3}[r.IntN(7)]
		if r.IntN(10) == 0 {
			v = math.Nextafter(v, 0)
		}
		text := AppendNumber(nil, Of(AppendDouble(nil, v)))
		want := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(want, ".") {
			want += ".0"
		}
		if a := math.Abs(v); a >= 1e-5 && a < 1e16 && string(text) != want {
			t.Fatalf("%b: got %s, want %s", v, text, want)
		}
	}
}

func TestStringsAreQuotedByteByByte(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			s := bytes.Repeat([]byte{'x'}, 20)
			s[at] = byte(c)
			got := AppendQuoted(nil, s)
			long := c < ' ' || c == '"' || c == '\\'
			if (len(got) > 22) != long || c < 128 && !bytes.Equal(Of(encode(t, string(got))).Text(nil), s) {
				t.Errorf("byte %#x at %d: got %q", c, at, got)
			}
		}
	}
}
