package commands

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// As Redis 7.4 writes them.
func TestNumbersAreWrittenAsRedisWritesThem(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", -17: "-17", 0.1: "0.1", -1.5: "-1.5", 3.1415926: "3.1415926", 1e17: "100000000000000000",
		4e18: "4000000000000000000", 1e19: "1e+19", -1e19: "-1e+19", 1.2345678901234567e19: "12345678901234567000",
		1.5e300: "1.5e+300", math.MaxFloat64: "1.7976931348623157e+308", 5e-324: "5e-324", 0.0001: "0.0001", 0.000001: "0.000001",
		0.0000001: "1e-7", 0.00012345678: "1.2345678e-4", 0.0012345678: "0.0012345678", 123.45678901: "123.45678901",
		1234.5678901: "1234.5678901", 12345.678901: "12345.678901", 12345.6789012: "1.23456789012e+4",
		math.Inf(1): "inf", math.Inf(-1): "-inf",
	} {
		if got := string(AppendFloat([]byte("x"), v)); got != "x"+want {
			t.Errorf("%g: got %s, want %s", v, got[1:], want)
		}
	}
	if got := string(AppendFloat(nil, math.Copysign(0, -1))); got != "-0" {
		t.Errorf("-0: got %s", got)
	}
	if got := string(AppendFloat(nil, math.NaN())); got != "nan" {
		t.Errorf("NaN: got %s", got)
	}
}

// As redis-server 7.0.15 takes scores.
func TestCursorsAreReadAsRedisReadsThem(t *testing.T) {
	const bad = 1<<64 - 2 // no text below says so
	for text, want := range map[string]uint64{
		"0": 0, "7": 7, "2147483648": 1 << 31, "18446744073709551615": 1<<64 - 1, "-0": 0, "+5": 5, " 5": 5, "\t\n7": 7, "007": 7,
		"+0": 0, "000": 0, "00000000000000000000000000000000001": 1, "5\x00x": 5, " -1": 1<<64 - 1, "-18446744073709551615": 1, "-9223372036854775809": 1<<63 - 1,
		"": bad, " ": bad, "+": bad, "-": bad, "-1": bad, "-9223372036854775808": bad, "-18446744073709551616": bad, "18446744073709551616": bad,
		"5 ": bad, "5x": bad, "x": bad, "0x10": bad, "1e3": bad, "+-5": bad, "++5": bad, "\x005": bad, "+ 5": bad,
	} {
		if got, ok := ParseCursor([]byte(text)); ok != (want != bad) || ok && got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, want)
		}
	}
}

func TestNumbersAreReadAsRedisReadsThem(t *testing.T) {
	for text, want := range map[string]float64{
		"0x10": 16, "0X1P4": 16, "0x.8": 0.5, "0x1.8": 1.5, "0x1.": 1, "-0x10": -16, "+0x10": 16, "0x1e5": 485, "0x0": 0,
		".5": 0.5, "5.": 5, "+.5": 0.5, "00012": 12, "1e0000001": 10, "0e-400": 0, "0x0p-9999": 0, "0e99999999999999999999": 0,
		"3e-324": 5e-324, "1e-310": 1e-310, "0x1p-1074": 5e-324, "0x1.8p-1074": 1e-323, "1.7976931348623158e308": math.MaxFloat64,
		"inf": math.Inf(1), "+INF": math.Inf(1), "Infinity": math.Inf(1), "-inf": math.Inf(-1),
	} {
		if got, ok := ParseFloat([]byte(text)); !ok || got != want {
			t.Errorf("%s: got %g, %t, want %g", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "-", ".", "e1", "-.e1", "1e", "1e+", "0x", "0x.", "0x1p", "0x1p+", "0x1e+5", "0b1", "0o7", "1d", "1_0", "0x_1", " 1", "1 ", "1\x00",
		"nan", "-nan", "nan(1)", "infinit", "1e309", "1.7976931348623159e308", "0x1p1024", "1e99999999999999999999",
		"1e-400", "-1e-400", "2e-324", "0x1p-1075", "0x.00000000000001p-1022", "1e-99999999999999999999",
	} {
		if got, ok := ParseFloat([]byte(text)); ok {
			t.Errorf("%q is read as %g", text, got)
		}
	}
}

// The short way for decimals of a few digits reads what strconv does, to the bit.
func TestShortDecimalsAreReadExactly(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	short := 0
	for range 300_000 {
		text := strings.Repeat("0", r.IntN(3)) + strconv.FormatUint(r.Uint64()>>(4+r.IntN(60)), 10)
		if r.IntN(4) > 0 {
			at := r.IntN(len(text) + 1)
			text = text[:at] + "." + text[at:]
		}
		text = [3]string{"", "-", "+"}[r.IntN(3)] + text
		got, ok := shortDecimal([]byte(text))
		if !ok {
			continue
		}
		short++
		want, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: got %g, want %g, %v", text, got, want, err)
		}
	}
	if short < 100_000 {
		t.Errorf("only %d texts took the short way", short)
	}
}
