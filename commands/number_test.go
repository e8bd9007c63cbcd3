package commands

import (
	"math"
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
